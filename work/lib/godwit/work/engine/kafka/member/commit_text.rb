# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # The text that a commit has beside its offset: the owner, fields of {Position}, the id of an
      # operator's seek. The text is UTF-8, since brokers replace other bytes. The text of another
      # program counts as empty.
      #
      # @!attribute owner
      #   @return [String, nil] names the member that owns the partition; a release removes it
      # @!attribute state
      #   @return [String, nil] of {Progress#dump}
      # @private
      CommitText = Struct.new(:owner, :crashes, :crashed_at, :noted, :seek, :state,
        keyword_init: true) do
        def self.parse(text)
          found = const_get(:FORM).match(text.to_s) or return new(crashes: 0)
          owner, crashes, crashed_at, noted, seek, state =
            found.captures.map { |one| one unless one == "-" }
          new(owner: owner, crashes: crashes.to_i, crashed_at: crashed_at&.to_i,
            noted: noted&.to_i, seek: seek, state: state&.unpack1("m"))
        end

        # @return [String] at most 4,096 characters, for a state of Progress::LIMIT bytes
        def dump
          state = [self.state].pack("m0") unless self.state.to_s.empty?
          ["godwit1", *[owner, crashes, crashed_at, noted, seek, state].map { |one| one || "-" }]
            .join(" ")
        end
      end

      class CommitText
        # The form of a text: a version, the owner, three numbers, the id of a seek, Base64.
        FORM = %r{\Agodwit1 (-|\h+) (\d+) (-|\d+) (-|\d+) (-|\h+) (-|[A-Za-z0-9+/=]+)\z}
      end
    end
  end
end
