# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # A URL that names brokers and a user: `kafka+ssl://user:secret@a:9093,b:9093`. Frozen.
      #
      # The user and the secret are %-encoded. No error and no `inspect` contains the secret.
      # @private
      class Url
        PORT = 9092
        SCHEME = %r{\A(kafka(\+ssl)?)://}i
        NAME = /[A-Za-z0-9._-]+/
        IP6 = /\[(?=(?:[^:\]]*:){2})[0-9A-Fa-f:.]+\]/
        HOST = /\A(#{NAME}|#{IP6})(?::(\d+))?\z/
        # A broker in this form may appear in an error: any other text may contain a secret.
        SHOWN = /\A(?:#{NAME}|#{IP6})?(?::\d*)?\z/
        # A text that is no Kafka URL may appear in an error if it has this form.
        OTHER = %r{\Asqlite:[^@]*\z|\A[^:@]*\z}n
        ALLOWED = "\"kafka://HOST:PORT,HOST:PORT\" or \"kafka+ssl://USER:SECRET@HOST:PORT\""
        EXTRA = "it has no path, query or fragment; in a user or secret / is %2F, ? %3F, # %23"

        class << self
          # @return [Boolean] whether the text begins like a Kafka URL, which may still be wrong
          def kafka?(text) = text.b.match?(/\A\s*kafka/i)

          # @raise [ArgumentValueError] for a wrong URL; the message does not contain the secret
          def parse(text)
            problem = catch(:problem) { return new(text) }
            raise Godwit::Errors.bad_value(:connect, "url", "#{ALLOWED}: #{problem}", shown(text))
          end

          # @param text [String] any URL, also a wrong one
          # @return [String] the text for an error: *** replaces what may be a secret
          def shown(text)
            scheme = text.b[SCHEME] or
              return text.b.match?(OTHER) ? text : Secret::SHOWN
            rest = text.b[scheme.size..]
            user = "#{Secret::SHOWN}@" if rest.include?("@")
            brokers = rest.rpartition("@").last
            safe = brokers.split(",", -1).all?(SHOWN)
            "#{scheme}#{"#{user}#{brokers}" if safe}#{Secret::SHOWN unless safe}"
          end
        end

        # @return [Array<String>] host and port of each broker
        attr_reader :hosts
        attr_reader :user
        attr_reader :secret

        def initialize(text)
          text = text.encode(Encoding::UTF_8)
          bad "its text is not UTF-8" unless text.valid_encoding?
          scheme = SCHEME.match(text) or bad "it begins with kafka:// or kafka+ssl://"
          @tls = !scheme[2].nil?
          rest = scheme.post_match
          bad EXTRA if rest.match?(%r{[/?#]})
          names, at, brokers = rest.rpartition("@")
          read_names(names) unless at.empty?
          @hosts = brokers.split(",", -1).map { |host| read_host(host).freeze }.freeze
          bad "it has no host" if @hosts.empty?
          freeze
        rescue EncodingError
          bad "its text is not UTF-8"
        end

        # @return [String] the hosts with commas between them, for librdkafka
        def brokers = @hosts.join(",")

        def tls? = @tls

        # @return [String] the URL without the secret
        def to_s
          names = "#{user.b.gsub(/[^\w.~-]/n) { |byte| format("%%%02X", byte.ord) }}:***@" if user
          "kafka#{"+ssl" if tls?}://#{names}#{brokers}"
        end
        alias_method :inspect, :to_s

        private

        def bad(problem) = throw(:problem, problem)

        def read_names(names)
          bad "@ is %40 in a user or secret" if names.include?("@")
          user, secret = names.split(":", 2).map { |name| decode(name) }
          bad "a user needs a name and a secret: USER:SECRET@HOST" if
            [user, secret].any? { |name| name.to_s.empty? }
          @user = user.freeze
          @secret = Secret.new(secret).freeze
        end

        def decode(name)
          bad "% is %25 in a user or secret" if name.match?(/%(?!\h\h)/)
          name = name.b.gsub(/%(\h\h)/) { $1.hex.chr }.force_encoding(Encoding::UTF_8)
          return name if name.valid_encoding? && !name.include?("\0")
          bad "a user and a secret are UTF-8 without NUL"
        end

        def read_host(host)
          bad "a host has no name" if host.empty? || host.start_with?(":")
          match = HOST.match(host) or bad "a host is a name, an address or [an IPv6 address], " \
            "with a port of digits"
          port = match[2] ? match[2].to_i : PORT
          bad "a port is 1 to 65535" unless port.between?(1, 65_535)
          "#{match[1]}:#{port}"
        end
      end
    end
  end
end
