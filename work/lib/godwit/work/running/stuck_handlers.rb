# frozen_string_literal: true

require "json"

module Godwit
  module Work
    # Finds the handlers that run for longer than `stuck_after` of their class. Emits the event
    # `stuck` once for each run of a handler, and stores a report in the engine until the run ends.
    # Also reports that the process works: a handler that holds Ruby's lock stops these reports.
    #
    # **Threads**: the checks have a thread, since a handler that hangs in a transaction stops the
    # coordinator. Each run of a handler has a new Array of messages: if two checks find the same
    # Array, the run has not ended. So workers need not report each record to this thread.
    # @private
    class StuckHandlers
      TICK = 0.25 # seconds between two checks
      LINES = 100 # most lines of a stored backtrace

      # A worker's thread; the handler that it runs, which the worker sets; and what the last check
      # found: the messages of the run, the first of them, the monotonic time of the first check of
      # this run, and the report of a run that is stuck.
      Watched = Struct.new(:thread, :handler, :run, :message, :since, :report)

      # @param engine [Object] see Contract
      # @param report [#call] reports at each check that the process works
      # @yieldreturn [Hash{Class => Member}] the members of this process
      def initialize(engine, events, report = -> {}, &members)
        @report = report
        @engine = engine
        @events = events
        @members = members
        @watched = []
        @stored = {}
        @lock = Mutex.new
      end

      def start
        @thread = Worker.new do
          loop do
            sleep TICK
            @report.call
            check_all
          end
        end
        self
      end

      # @return [Watched] for the calling thread
      def watch
        Watched.new(Thread.current).tap { |one| @lock.synchronize { @watched += [one] } }
      end

      def kill = @thread.kill

      private

      def check_all
        @lock.synchronize { @watched = @watched.select { |one| one.thread.alive? } }
        @watched.each { |one| check(one, Timeout.now) }
        @members.call.each { |klass, member| store(klass, member) }
      rescue Error => error
        @events.emit(:error, error: error)
      end

      def check(one, now)
        handler = one.handler
        run = handler&.running
        unless run.equal?(one.run)
          one.report = nil
          one.run, one.message, one.since = run, run&.first, now
          return
        end
        limit = run && handler.assignment.klass.settings.stuck_after
        return if limit.nil? || one.report || now - one.since < limit
        report(one, handler.assignment, now - one.since)
      end

      def report(one, assignment, seconds)
        backtrace = one.thread.backtrace or return # nil: the thread has ended
        message = one.run.first || one.message
        partition = {topic: assignment.topic.name, partition: assignment.partition}
        one.report = {klass: assignment.klass, **partition, offset: message&.offset,
                      since: ((Time.now - seconds).to_r * 1000).to_i,
                      backtrace: backtrace.first(LINES).map { |line| utf8(line) }}
        @events.emit(:stuck, **partition, message: message, seconds: seconds, backtrace: backtrace)
      end

      def utf8(line) = line.dup.force_encoding(Encoding::UTF_8).scrub

      def store(klass, member)
        reports = @watched.filter_map(&:report).select { |report| report[:klass] == klass }
        wanted = [member.id, JSON.generate(reports.map { |one| one.except(:klass) })] if
          reports.any?
        return if wanted == @stored[klass]
        @engine.report(member, wanted&.last)
        @stored[klass] = wanted
      end
    end
  end
end
