# frozen_string_literal: true

module Godwit
  # Programs written for another gem, run unchanged. `godwit/compat/rbczmq` and
  # `godwit/compat/ffi_rzmq` each open one door.
  # @private
  module Compat
    # A door is a folder that goes in front of the load path: what an old program requires is found
    # there.
    # @private
    module LoadPath
      FOLDERS = File.expand_path("load_path", __dir__)

      class << self
        # Opens a door. The same one may be opened again; the gems behind the doors share the name
        # ZMQ, so only one can be.
        # @param name [Symbol] of its folder
        # @raise [LoadError] when the other one is open, or such a gem itself is loaded
        def open(name)
          only(name)
          folder = File.join(FOLDERS, name.to_s)
          return if $LOAD_PATH.include?(folder)
          taken(name) if defined?(::ZMQ)
          $LOAD_PATH.unshift(folder)
        end

        # @raise [LoadError] when another door is open, or another gem's ZMQ has been loaded since
        def enter(name)
          only(name)
          if defined?(::ZMQ::Context) &&
              !Object
                  .const_source_location("ZMQ::Context")
                  .first
                  .to_s
                  .start_with?(File.join(__dir__, name.to_s, ""))
            taken(name)
          end
        end

        # @raise [LoadError] when another door is open
        def only(name)
          folders = $LOAD_PATH.map(&:to_s).select { |path| File.dirname(path) == FOLDERS }
          other = folders.map { |path| File.basename(path) }.find { |one| one != name.to_s } or
            return
          raise LoadError,
            "godwit/compat/#{other} is loaded: #{name} defines module ZMQ too, so a process " \
            "has one of them"
        end

        private

        def taken(name)
          raise LoadError,
            "module ZMQ is there already, from another gem: require godwit/compat/#{name} " \
            "before it, or take it out of the Gemfile"
        end
      end
    end
  end
end
