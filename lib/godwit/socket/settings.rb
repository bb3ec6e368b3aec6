# frozen_string_literal: true

module Godwit
  class Socket
    # Reads and sets options; subscribes and unsubscribes.
    module Settings
      # Subscribes to messages that start with one of these topics.
      # @param topics [Array<String>] "" for all messages
      # @return [self]
      # @raise [OptionError] on other types than SUB
      def subscribe(*topics)
        topics.each { |topic| apply_option(:subscribe, topic) }
        self
      end

      # Undoes {#subscribe}: a topic with two subscriptions needs two calls.
      # @param topics [Array<String>]
      # @return [self]
      def unsubscribe(*topics)
        topics.each { |topic| apply_option(:unsubscribe, topic) }
        self
      end

      # @param name [Symbol] of an option, see {file:docs/options.md}
      # @return [Object] its value
      # @raise [OptionError] when the option is unknown or cannot be read
      def get(name)
        option = Options.fetch(name)
        option.check_readable(type)
        option.decode(_get_option(option.id))
      end

      # @param name [Symbol] of an option; some options affect only later binds and connects
      # @param value [Object]
      # @return [Object] the value
      # @raise [OptionError] when the option is unknown, cannot be set, or the value is not allowed
      def set(name, value)
        apply_option(name, value)
        value
      end

      # @private
      def subscribed? = !@topics.nil? && !@topics.empty?

      # @private
      # Copies to another socket those of the named options that were set on this socket.
      def share_options(socket, names)
        names.each do |name|
          option = Options.fetch(name)
          raw = @settings[option.id]
          socket.store(option, raw, raw) if raw
        end
      end

      # @private
      def store(option, raw, value)
        _exclusive(:set) do
          @names.check(raw) if option.name == :connect_routing_id
          option.hand_over(value) { _set_option(option.id, raw) }
          @names.next = raw if option.name == :connect_routing_id
          @names.chosen_by_peers if option.name == :immediate && raw == 1
          record_topic(option.name, raw)
          # REQ#request sets all @settings again when it recreates libzmq's socket.
          _record(:@settings) { |settings| settings.merge(option.id => raw) }
        end
      end

      private

      # Checks all options before libzmq makes a socket: a socket that is closed for a wrong option
      # would count for the context's `max_sockets` for some time.
      def starting_options(options, topics)
        defaults =
          @context.socket_options.to_h.select { |name, _| Options.fetch(name).for_type?(type) }
        wanted = defaults.merge(options).to_a + topics.map { |topic| [:subscribe, topic] }
        wanted.map do |name, value|
          option = Options.fetch(name)
          [option, option.encode(value, type), value]
        end
      end

      def apply_option(name, value)
        option = Options.fetch(name)
        if option.name == :conflate && type == :PUB
          raise option.error("of a PUB is given to its constructor")
        end
        store(option, option.encode(value, type), value)
      end

      # Counts the subscriptions to each topic.
      def record_topic(name, topic)
        return unless name == :subscribe || name == :unsubscribe
        _record(:@topics) do |known|
          count = (known || {}).fetch(topic, 0) + ((name == :subscribe) ? 1 : -1)
          (known || {}).merge(topic => count).select { |_, times| times.positive? }
        end
      end
    end

    # Makes options from the keywords `curve:`, `server_key:` and `plain:`.
    # @private
    module Security
      def self.options(curve, server_key, plain)
        if server_key && !curve
          raise Errors.of(ArgumentValueError, :new,
            "server_key: goes with curve:, the client's own keys (Godwit::Curve.keypair)")
        end
        curve_options(curve, server_key).merge(plain_options(plain))
      end

      def self.curve_options(keys, server_key)
        return {} unless keys
        keys = pair(keys)
        both = {curve_public_key: keys.public_key, curve_secret_key: keys.secret_key}
        return {curve_server: true, **both} unless server_key
        server_key = server_key.public_key if cert?(server_key)
        both.merge(curve_server_key: Curve.z85(server_key))
      end

      # Tells by its methods whether an object is a Cert: only the main Ractor can autoload that
      # constant.
      def self.cert?(object) = object.respond_to?(:keypair)

      def self.pair(keys)
        return keys if keys.is_a?(Curve::Keypair)
        return keys.keypair if cert?(keys) && keys.secret?
        wrong = "a certificate without its secret key: load the file NAME.key_secret"
        wrong = keys.class unless cert?(keys)
        raise Errors.of(CurveKeyError, :curve,
          "takes a Godwit::Curve::Keypair or a Godwit::Cert: got #{wrong}")
      end

      def self.plain_options(plain)
        return {} unless plain
        name, password = plain if plain.is_a?(Array) && plain.size == 2
        if name.is_a?(String) && password.is_a?(String)
          return {plain_username: name, plain_password: password}
        end
        raise Errors.bad_value(:new, "plain:", "[user name, password], two Strings", plain,
          secret: true)
      end
    end
  end
end
