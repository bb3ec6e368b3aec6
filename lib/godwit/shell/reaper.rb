# frozen_string_literal: true

module Godwit
  module Shell
    # Ends what nobody ends: commands that run when the process exits, and those whose stream was
    # collected.
    # @private
    module Reaper
      @running = {}.compare_by_identity # Processes => true; with CRuby's lock, or JRuby's @lock
      @lock = Mutex.new

      class << self
        # @return [Array<Processes>] that this process started and that are not done
        def running = @lock.synchronize { @running.keys }.reject(&:foreign?)

        # Sends a signal to all of them.
        # @return [nil]
        # @raise [ThreadError] in a trap handler
        def signal(number)
          running.each { |processes| processes.signal(number) }
          nil
        end

        # @param processes [Processes]
        def watch(processes)
          @lock.synchronize do
            @running.delete_if { |other, _| other.foreign? }
            @running[processes] = true
            next if @at_exit == Process.pid
            @at_exit = Process.pid
            at_exit { stop_all }
          end
        end

        def forget(processes)
          @lock.synchronize { @running.delete(processes) }
        end

        # Ends them on a thread of its own. Called by finalizers too: nothing here waits or takes a
        # lock.
        # @param open [Array<#close>] closed before
        def take(processes, open = [])
          Thread.new do
            Thread.current.name = "godwit shell reaper"
            # It may be started where kills are put off.
            Thread.handle_interrupt(Object => :immediate) do
              open.each(&:close)
              processes.stop
            end
          end
        rescue ThreadError
          nil # the process is at its end
        end

        # @param open [Array<#close>] what the job has open, and what does not hold it
        # @return [Proc] a finalizer of a job
        def finalizer(processes, stdin_writer, open)
          proc do
            unless processes.foreign?
              stdin_writer&.kill
              take(processes, open)
            end
          end
        end

        private

        # What is started after this (by other at_exit blocks) registers it anew.
        def stop_all
          return unless @at_exit == Process.pid
          @at_exit = nil
          running.filter_map { |processes| take(processes) }.each(&:join)
        end
      end
    end
  end
end
