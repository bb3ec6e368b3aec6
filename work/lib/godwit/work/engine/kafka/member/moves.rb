# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # Moves partitions of a member to other offsets, as an operator or the end of a log demands.
      #
      # **Threads**: the coordinator of a Runner alone.
      # @private
      class Moves
        def initialize(engine, arrivals)
          @engine = engine
          @arrivals = arrivals
        end

        # Partitions whose offset is not there go on at the log's start.
        # @param claims [Array<Claim>]
        # @yieldparam position [Position] of each that moved back
        # @raise [Error] the next call tries it again
        def back(claims)
          claims.select(&:stopped_at).each do |claim|
            first = claim.go_on
            yield move(claim, first) if first
          end
        end

        # Partitions that an operator has sent elsewhere.
        # @param (see #back)
        # @yieldparam (see #back)
        # @raise (see #back)
        def seek(group, topic, claims)
          seek = @engine.seek_of(group, topic) or return
          claims.each do |claim|
            offset = seek["offsets"][claim.position.partition.to_s]
            next if offset.nil? || claim.seek == seek["id"] || claim.stopped_at
            position = move(claim, offset)
            claim.seek = seek["id"]
            yield position
          end
        end

        private

        def move(claim, offset)
          claim.move(@arrivals.moved(claim.position, offset))
          claim.position.dup
        end
      end
    end
  end
end
