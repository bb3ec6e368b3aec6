# frozen_string_literal: true

module Godwit
  module Work
    # The processes of a file's members, by their FIFOs. The file stores names of FIFOs, not paths:
    # containers that share a volume may have the file at different paths.
    # @private
    class Processes
      KNOWN = 0.25 # seconds after which a process reads the list of members again
      FIFOS = "SELECT DISTINCT place FROM godwit_members"
      MEMBERS = "SELECT id, place FROM godwit_members"

      def initialize(file)
        @file = file
        @folder = "#{file.path}.members"
        @own = [] # names of the FIFOs of this process
        @targets = WakeUp::Targets.new
        @departed = {}
        @known_until = @departed_until = 0
      end

      # @return [WakeUp] a new FIFO of this process
      def listen = WakeUp.new(@folder).tap { |one| @own += [File.basename(one.path)] }

      # Wakes the processes of all members.
      # @param batches [Array<Array>] written batches; empty: the processes check all partitions
      def wake(batches = [])
        now = Timeout.now
        if now > @known_until
          names = @file.use { |database| database.rows(FIFOS).flatten }
          @targets.update(names.map { |name| path(name) })
          @known_until = now + KNOWN
        end
        return if @targets.empty?
        @targets.wake(batches.map { |topic, partition| topic.ids[partition] })
        nil
      end

      # @param members [Array<Array(Integer, String)>] ids and names of FIFOs
      # @return [Array<Array>] for each member: id and host of its process, whether the process
      #   lives, and the seconds since the process's last report
      def facts(members)
        known = {} # the members of one process share its FIFO
        members.map do |_, name|
          known[name] ||= path(name).then { |fifo|
            [WakeUp.pid(fifo), WakeUp.host(fifo), WakeUp.alive?(fifo), WakeUp.silent(fifo)]
          }
        end
      end

      # Finds the members whose processes have ended. A process has a member for each class: one
      # check serves all of them.
      # @param member [Member] of this process
      # @return [Hash{Integer => String}] the members of other processes that have ended, and the
      #   names of their FIFOs
      def departed(member)
        now = Timeout.now
        return @departed if now < @departed_until
        own = [member.fifo, *@own]
        others = @file.use { |database| database.rows(MEMBERS) }
          .reject { |_, name| own.include?(name) }
        names = others.map(&:last).uniq.reject { |name| WakeUp.alive?(path(name)) }
        @departed_until = now + KNOWN / 2
        @departed = others.select { |_, name| names.include?(name) }.to_h
      end

      # Removes FIFOs whose members are no longer in the file.
      def buried(names)
        names.each { |name| WakeUp.remove(path(name)) }
        @departed = {}
      end

      # Removes the FIFO of a member that is no longer in the file, unless its process lives.
      def removed(name)
        WakeUp.remove(path(name)) unless WakeUp.alive?(path(name))
      end

      private

      def path(name) = File.join(@folder, name)
    end
  end
end
