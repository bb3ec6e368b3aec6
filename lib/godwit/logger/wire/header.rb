# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # A record's header: one JSON object in UTF-8. The class parses and writes headers; an instance
    # has the fields that identify a record. A header that Godwit wrote needs no JSON parser.
    # mono_ns and pid are nil unless the header begins as Godwit writes it.
    #
    # On CRuby the methods of ext/godwit/logger_header.c replace {start}, {pack} and {payload}.
    class Header < Struct.new(:writer, :seq, :tseq, :t_ns, :mono_ns, :pid)
      # The keys are in the order in which Godwit writes them; nil and empty values are left out. v
      # is 1, writer has 32 hexadecimal digits, t_ns and mono_ns are nanoseconds, error is an
      # object.
      KEYS = %w[v writer seq tseq t_ns mono_ns level pid thread host prog tags payload error].freeze
      COUNT = "[1-9]\\d{0,18}"
      TIME = "\\d{1,19}"
      # The start of a header that Godwit wrote.
      START =
        /\A\{"v":1,"writer":"(\h{32})","seq":(#{COUNT}),"tseq":(#{COUNT}),"t_ns":(#{TIME}),
          (?:"mono_ns":(#{TIME}),"level":\d+,"pid":(\d+),)?/x
      # What all records of a writer, level and program have in common: their topic, and the JSON
      # text before and after the value of "thread".
      Common = Struct.new(:topic, :before_thread, :after_thread)

      class << self
        # @return [Header, nil] nil: the header does not begin as Godwit writes it
        def start(header)
          writer, *numbers = START.match(header)&.captures
          new(-writer.encode(Encoding::UTF_8), *numbers.map { |digits| digits&.to_i }) if writer
        end

        # @return [Hash] the whole header; empty when it is no JSON object
        def parse(header)
          json = header.dup.force_encoding(Encoding::UTF_8).scrub
          value = JSON.parse(json)
          value.is_a?(Hash) ? value : {}
        rescue JSON::ParserError
          {}
        end

        # @param data [Hash] as {parse} returns it, with the keys in any order
        def of(data)
          writer, *numbers = data.values_at("writer", "seq", "tseq", "t_ns")
          numbered = numbers.all?(Integer) && numbers.first(2).all?(&:positive?)
          new(writer, *numbers) if numbered && writer.is_a?(String)
        end

        def before_seq(writer) = "{\"v\":1,\"writer\":\"#{writer}\",\"seq\":"

        def common(topic, level, pid, host, prog)
          prog = ",\"prog\":#{JSON.generate(prog)}" if prog
          Common.new(topic, ",\"level\":#{level},\"pid\":#{pid},\"thread\":",
            ",\"host\":#{JSON.generate(host)}#{prog}").freeze
        end

        # @param before [String] the result of {before_seq} for the writer
        def pack(before, seq, tseq, common, entry, text)
          header = "#{before}#{seq},\"tseq\":#{tseq},\"t_ns\":#{entry.t_ns}," \
            "\"mono_ns\":#{entry.mono_ns}#{common.before_thread}#{entry.thread}" \
            "#{common.after_thread}#{entry.tags}#{entry.payload}#{entry.error}}"
          Packing.pack(common.topic, header, text)
        end

        # @return [String, nil] `,"payload":` and the Hash in JSON; nil: {Text} must encode the
        #   Hash. Only the C extension returns a String
        def payload(_hash) = nil
      end

      singleton_class.prepend(Backend::Native::Header) if BACKEND == :native
    end
    private_constant :Header
  end
end
