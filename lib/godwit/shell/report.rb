# frozen_string_literal: true

module Godwit
  module Shell
    # Makes the Status of a run.
    # @private
    class Report
      def initialize(plan, children)
        @plan = plan
        @children = children
      end

      # @param facts [Hash] of {Status#initialize}
      # @return [Status]
      def status(**facts)
        if @children.size == 1
          return (
            Status.new(command: @plan.name, process: @children.first.status, ok: @plan.ok, **facts)
          )
        end
        stages =
          @children.map do |child|
            Status.new(
              command: Plan.shown(child.words), process: child.status, seconds: facts[:seconds],
              ok: @plan.ok
            )
          end
        Status.new(
          command: @plan.name, process: decisive, stages: stages.freeze, ok: @plan.ok, **facts
        )
      end

      private

      # As with a shell's pipefail the last stage that failed; a stage that nobody read any more did
      # not fail.
      def decisive
        *upstream, last = @children.map(&:status)
        failed =
          [*upstream.reject { |status| status&.termsig == Signal.list["PIPE"] }, last].reverse
            .find { |status| !@plan.ok.include?(status&.exitstatus) }
        failed || last
      end
    end
  end
end
