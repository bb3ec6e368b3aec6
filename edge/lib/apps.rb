# frozen_string_literal: true

module Edge
  # The apps of this worker: one for each location.
  # @private
  module Apps
    ALL = []   # by index: what answers
    NAMED = [] # by index: what `run` was given
    FOLDERS = []
    FILE = []   # what {Object#_edge_evaluate} evaluates
    LOADED = [] # by index: paths that `require` has loaded

    class << self
      # Runs an app's file, in a fiber.
      # @param index [Integer]
      # @param path [String]
      def start(index, path)
        ALL[index] = evaluate(index, path)
        Edge._started(index, true)
      rescue Exception => error # standard:disable Lint/RescueException -- logged: 503
        begin
          Edge._log(Failure.describe(error))
        ensure
          Edge._started(index, false) # also without memory for the text
        end
      ensure
        Edge._finish
      end

      # @return [Object] the app
      def named(app) = NAMED[Edge._app] = app

      # (see Object#require)
      def require(name)
        return false if name == "json"
        index = Edge._app
        path = name.end_with?(".rb") ? name : "#{name}.rb"
        unless name.start_with?("./", "../", "/") && index >= 0
          raise LoadError, "cannot load #{name}: the edge has json; files are named ./like_this"
        end
        path = "#{FOLDERS[index]}/#{path}" unless name.start_with?("/")
        return false if LOADED[index].include?(path)
        raise LoadError, "cannot load #{name}: there is no #{path}" unless File.file?(path)
        load(index, path)
      end

      # @param main [Object] self of the file
      # @return [Object] the value of its last expression
      def run_file(main, path)
        FILE.replace([File.read(path), nil, path, 1])
        main._edge_evaluate
      end

      private

      def load(index, path)
        LOADED[index] << path
        run_file(MAINS[index], path)
        loaded = true
      ensure
        LOADED[index].delete(path) unless loaded
      end

      def evaluate(index, path)
        NAMED[index] = nil
        LOADED[index] = []
        FOLDERS[index] = File.dirname(path)
        main = MAINS[index] = Object.new
        def main.to_s = "main"
        def main.inspect = "main"
        value = run_file(main, path)
        app = NAMED[index] || value
        return app if app.respond_to?(:call)
        raise Error, "#{path} ends with #{app.inspect}, which has no method call: end it with " \
          "an app, or with run(app)"
      end
    end

    MAINS = []
  end
end
