# frozen_string_literal: true

module Godwit
  class Metrics
    # Writes the text form of Prometheus, version 0.0.4. Values with one name and the same labels
    # are added; of `last_activity`, the latest is used.
    # @see https://prometheus.io/docs/instrumenting/exposition_formats/
    class Exposition
      Family = Struct.new(:name, :type, :help)

      FAMILIES = {
        sockets: ["sockets", :gauge, "Open sockets."],
        sent: ["socket_sent_messages_total", :counter, "Messages handed to libzmq."],
        sent_bytes: ["socket_sent_bytes_total", :counter, "Bytes of the messages sent."],
        received: ["socket_received_messages_total", :counter, "Messages received."],
        received_bytes: ["socket_received_bytes_total", :counter, "Bytes of messages received."],
        peers: ["socket_peers", :gauge, "Connected peers, where the socket counts them."],
        last_activity: ["socket_last_activity_timestamp_seconds", :gauge,
          "Unix time of the last message."],
        proxy_received: ["proxy_received_messages_total", :counter,
          "Messages that the proxy received from this side."],
        proxy_received_bytes: ["proxy_received_bytes_total", :counter, "Bytes of these messages."],
        proxy_sent: ["proxy_sent_messages_total", :counter,
          "Messages that the proxy sent to this side."],
        proxy_sent_bytes: ["proxy_sent_bytes_total", :counter, "Bytes of these messages."],
        proxy_dropped: ["proxy_dropped_messages_total", :counter,
          "Messages that the proxy dropped, since their peer was gone."],
        logger_queued: ["logger_queued_records", :gauge, "Records in the memory of the logger."],
        logger_spooled: ["logger_spooled_records", :gauge, "Records on the disk."],
        logger_sent: ["logger_sent_records_total", :counter,
          "Records handed to libzmq; of a durable logger, acknowledged."],
        logger_dropped: ["logger_dropped_records_total", :counter, "Records that were dropped."]
      }.to_h { |name, (suffix, type, help)| [name, Family.new("godwit_#{suffix}", type, help)] }

      ESCAPES = {"\\" => "\\\\", "\"" => "\\\"", "\n" => "\\n"}.freeze

      def initialize
        @samples = FAMILIES.transform_values { {} }
      end

      # @param value [Integer, nil] nil: unknown, and so ignored
      def add(name, labels, value)
        return if value.nil?
        before = @samples.fetch(name)[labels]
        latest = name == :last_activity
        @samples[name][labels] = latest ? [before || value, value].max : before.to_i + value
      end

      def to_s
        @samples.each_with_object(+"") do |(name, samples), text|
          next if samples.empty?
          family = FAMILIES.fetch(name)
          text << "# HELP #{family.name} #{family.help}\n# TYPE #{family.name} #{family.type}\n"
          samples.each { |labels, value| text << "#{family.name}{#{pairs(labels)}} #{value}\n" }
        end
      end

      private

      def pairs(labels)
        labels.map { |name, value| "#{name}=\"#{value.gsub(/[\\"\n]/, ESCAPES)}\"" }.join(",")
      end
    end
  end
end
