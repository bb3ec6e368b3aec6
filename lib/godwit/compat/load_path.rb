# frozen_string_literal: true

module Godwit
  # The compatibility layers run programs that were written for rbczmq or ffi-rzmq, unchanged.
  # @private
  module Compat
    # Puts a layer's folder in front of the load path, so that `require "zmq"` loads the layer. Both
    # layers define module ZMQ, so a process can load only one of them.
    # @private
    module LoadPath
      FOLDERS = File.expand_path("load_path", __dir__)

      class << self
        # Adds the folder of a layer. A second call does nothing.
        # @raise [LoadError] when the other layer, or the gem that this layer replaces, is loaded
        def add(layer, constant)
          refuse_other_layer(layer)
          folder = File.join(FOLDERS, layer.to_s)
          return if $LOAD_PATH.include?(folder)
          raise foreign_zmq(layer) if Object.const_defined?(constant)
          $LOAD_PATH.unshift(folder)
        end

        # @raise [LoadError] when the other layer, or another gem's ZMQ, has been loaded since {add}
        def check(layer)
          refuse_other_layer(layer)
          return unless defined?(::ZMQ::Context)
          file = Object.const_source_location("ZMQ::Context").first.to_s
          raise foreign_zmq(layer) unless file.start_with?(File.join(__dir__, layer.to_s, ""))
        end

        private

        def refuse_other_layer(layer)
          layers = $LOAD_PATH.map(&:to_s).select { |path| File.dirname(path) == FOLDERS }
          other = layers.map { |path| File.basename(path) }.find { |name| name != layer.to_s }
          return unless other
          raise LoadError, "godwit/compat/#{other} is loaded: #{layer} defines module ZMQ too, " \
            "so a process can load only one of them"
        end

        def foreign_zmq(layer)
          LoadError.new("another gem has defined module ZMQ already: require " \
            "godwit/compat/#{layer} before it (ruby -rgodwit/compat/#{layer}, or the first line " \
            "of the Gemfile)")
        end
      end
    end
  end
end
