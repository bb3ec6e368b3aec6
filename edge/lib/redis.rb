# frozen_string_literal: true

module Edge
  # Redis over one pipelined connection of this worker, which all its requests share. Commands of
  # waiting fibers leave together; a reply goes to the fiber of its command.
  #
  # **Fibers**: any number may call it at once.
  class Redis
    URL = "redis://127.0.0.1:6379"
    # Why commands of these names are refused.
    REFUSED = {
      "it would change the connection for other requests" => %w[
        SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE MONITOR MULTI EXEC
        DISCARD WATCH UNWATCH SELECT HELLO RESET QUIT AUTH ASKING READONLY READWRITE SYNC PSYNC
      ],
      "it would block the connection for other requests" => %w[
        BLPOP BRPOP BRPOPLPUSH BLMOVE BLMPOP BZPOPMIN BZPOPMAX BZMPOP WAIT WAITAOF
      ]
    }.freeze
    # Replies of the connection, or of nobody, from then on.
    REFUSED_CLIENT = %w[REPLY TRACKING CACHING].freeze
    # Methods that every object has, or that are called often.
    METHODS = %w[
      append bitcount dbsize decr decrby del dump eval evalsha exists expire expireat flushdb get
      getdel getset hdel hexists hget hgetall hincrby hkeys hlen hmget hset hvals incr incrby
      incrbyfloat info keys lindex llen lpop lpush lrange lrem lset ltrim mget mset object persist
      pexpire ping publish pttl rename rpop rpush sadd scan scard set setex setnx sismember
      smembers sort spop srem strlen sunion time touch ttl type unlink zadd zcard zcount
      zincrby zrange zrank zrem zscore
    ].freeze
    private_constant :URL, :REFUSED, :REFUSED_CLIENT, :METHODS if respond_to?(:private_constant)

    # @param url [String, nil] redis://[USER][:PASSWORD]@HOST[:PORT][/DATABASE] or
    #   unix://[USER][:PASSWORD]@/PATH[?db=DATABASE]; nil: $REDIS_URL, else redis://127.0.0.1:6379.
    #   A host's name is resolved here, which blocks
    # @param timeout [Numeric] seconds for each command, with the connection's making
    # @raise [ArgumentError]
    def initialize(url = nil, timeout: 0.5)
      parts = RedisURL.new(url || Edge._environment("REDIS_URL") || URL)
      unless timeout.is_a?(Numeric) && timeout > 0
        raise ArgumentError, "timeout: #{timeout.inspect} is not a number of seconds above 0"
      end
      _open(parts.host, parts.port, parts.user, parts.password, parts.database,
        (timeout * 1000).ceil)
      @place = parts.place
    end

    # @param words [Array<String, Symbol, Numeric>] a command, such as "SET", "foo", 1
    # @return [String, Integer, Array, nil]
    # @raise [CommandError] Redis has refused it, or the edge does
    # @raise [ConnectionError] there is no connection
    # @raise [TimeoutError] no answer in time; the command may have run
    def call(*words)
      refuse(words) unless KNOWN[words[0]]
      _send(words)
      Edge.wait
    end

    # @return [String, nil]
    def [](key) = call("GET", key)

    def []=(key, value)
      call("SET", key, value)
    end

    METHODS.each { |name| define_method(name) { |*words| call(name, *words) } }

    # Each command is a method.
    def method_missing(name, *words)
      text = name.to_s
      return super if text.end_with?("=", "?", "!") || text.start_with?("_", "to_")
      call(text, *words)
    end

    def respond_to_missing?(name, _private = false)
      text = name.to_s
      !text.end_with?("=", "?", "!") && !text.start_with?("_", "to_")
    end

    # @return [String] without the password
    def inspect = "#<#{self.class} #{@place}>"
    alias_method :to_s, :inspect

    # Names that may run whatever follows, as they were written.
    KNOWN = {}
    KNOWN_MOST = 1_000

    private

    def refuse(words)
      unless words[0].is_a?(String) || words[0].is_a?(Symbol)
        raise ArgumentError, "a command begins with its name, a String or Symbol"
      end
      name = words[0].to_s.upcase
      why, = REFUSED.find { |_, names| names.include?(name) }
      why ||= refuse_words(name, words)
      raise CommandError, "#{name} is refused: #{why}" if why
      return if %w[CLIENT XREAD XREADGROUP].include?(name) || KNOWN.size >= KNOWN_MOST
      KNOWN[words[0]] = true
    end

    def refuse_words(name, words)
      others = words.drop(1).map { |word| word.to_s.upcase }
      if name == "CLIENT" && REFUSED_CLIENT.include?(others[0])
        "#{others[0]} would change the connection for other requests"
      elsif name.start_with?("XREAD") && blocks?(others.drop((name == "XREADGROUP") ? 3 : 0))
        "BLOCK would block the connection for other requests"
      end
    end

    # @param options [Array<String>] of XREAD, and of XREADGROUP behind GROUP, group and consumer
    def blocks?(options) = options.take_while { |word| word != "STREAMS" }.include?("BLOCK")
  end

  # The parts of a URL of Redis.
  # @private
  class RedisURL
    attr_reader :host, :port, :user, :password, :database

    def initialize(url)
      @url = url.to_s
      scheme, rest = split(@url, "://")
      @port = 6379
      @database = 0
      case scheme
      when "redis" then tcp(credentials(rest.to_s))
      when "unix" then unix(credentials(rest.to_s))
      else wrong("begins with redis:// or unix://; the edge has no TLS for Redis")
      end
    end

    # @return [String] for messages
    def place = @host.include?("/") ? @host : "#{@host}:#{@port}/#{@database}"

    private

    def split(text, mark)
      at = text.index(mark)
      at ? [text[0, at], text[(at + mark.size)..]] : [text, nil]
    end

    # @return [String] what follows them
    def credentials(rest)
      at = rest.rindex("@")
      return rest unless at
      user, password = split(rest[0, at], ":")
      @user = decode(user) unless user.empty?
      @password = decode(password) if password
      wrong("has a user without a password: write user:password@") if @user && !@password
      rest[(at + 1)..]
    end

    def tcp(rest)
      place, path = split(rest, "/")
      @database = number(path, "database") unless path.nil? || path.empty?
      if place.start_with?("[")
        @host, port = split(place[1..], "]")
        port = port.to_s.start_with?(":") ? port[1..] : nil
      else
        @host, port = split(place, ":")
      end
      wrong("has no host") if @host.empty?
      @port = number(port, "port") if port
      wrong("has a port that is not from 1 to 65535") unless @port.between?(1, 65_535)
    end

    def unix(rest)
      @host, query = split(rest, "?")
      wrong("has no path: write unix:///run/redis.sock") unless @host.start_with?("/")
      @host = decode(@host)
      return unless query
      name, value = split(query, "=")
      wrong("knows only ?db=NUMBER behind the path") unless name == "db"
      @database = number(value.to_s, "database")
    end

    def number(text, what)
      whole = text.size.between?(1, 9) && only?(text, "0123456789")
      whole ? text.to_i : wrong("has a #{what} that is no number")
    end

    def only?(text, characters) = text.chars.all? { |one| characters.include?(one) }

    def decode(text)
      first, *others = text.split("%", -1)
      others.inject(first.to_s) do |all, one|
        hex = one[0, 2]
        unless hex.size == 2 && only?(hex, "0123456789abcdefABCDEF")
          wrong("has a % without two hexadecimal digits")
        end
        all + hex.to_i(16).chr + one[2..]
      end
    end

    # The URL may have a password.
    def wrong(why) = raise(ArgumentError, "the URL of Redis #{why}")
  end
end

Hiredis = Edge::Redis
