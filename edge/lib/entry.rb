# frozen_string_literal: true

module Edge
  # What the C half calls. None raises.
  # @private
  module Entry
    class << self
      # A request, in its fiber.
      # @param app [Integer] index
      # @param env [Hash]
      def serve(app, env)
        status, headers, body = Apps::ALL[app].call(env)
        return body.run(status, headers) if body.is_a?(Stream)
        Edge._respond(status, headers, body.is_a?(Array) ? body : parts(body))
      rescue Exception => error # standard:disable Lint/RescueException -- answered
        Failure.answer(error)
      ensure
        Edge._finish
      end

      private

      # @return [Array<String>] of a body that has `each`
      def parts(body)
        unless body.respond_to?(:each)
          raise ResponseError, "a body is an Array of Strings, or has each"
        end
        found = []
        begin
          body.each { |part| found << part }
        ensure
          body.close if body.respond_to?(:close)
        end
        found
      end
    end

    REQUESTS = Fibers.new { |app, env| serve(app, env) }
    FILES = Fibers.new { |index, path| Apps.start(index, path) }

    BOOT = proc { |index, path| FILES.run(index, path) }
    RUN = proc { |app, env| REQUESTS.run(app, env) }
    RESUME = proc { |fiber, value| fiber.resume(value) }
    LOOK = proc { |watch| watch.look }
    LOOK_ALL = proc { SocketWatch::OPEN.values.each { |watch| watch.look } }
  end
end
