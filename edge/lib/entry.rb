# frozen_string_literal: true

module Edge
  # What the C half calls. None raises.
  # @private
  module Entry
    class << self
      # A request, in its fiber.
      # @param app [Integer] index
      # @param env [Hash]
      # @param number [Integer] of the C half
      def serve(app, env, number)
        status, headers, body = Apps::ALL[app].call(env)
        Edge._respond(number, status, headers, body.is_a?(Array) ? body : parts(body))
      rescue Exception => error
        Failure.answer(number, error)
      ensure
        Edge._finish(number)
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

    REQUESTS = Fibers.new { |app, env, number| serve(app, env, number) }
    FILES = Fibers.new { |index, path, number| Apps.start(index, path, number) }

    BOOT = Proc.new { |index, path, number| FILES.run(index, path, number) }
    RUN = Proc.new { |app, env, number| REQUESTS.run(app, env, number) }
    RESUME = Proc.new { |fiber, value| fiber.resume(value) }
    LOOK = Proc.new { |watch| watch.look }
    LOOK_ALL = Proc.new { SocketWatch::OPEN.values.each { |watch| watch.look } }
  end
end
