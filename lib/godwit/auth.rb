# frozen_string_literal: true

module Godwit
  # Decides which clients may connect to the servers of a context: a ZAP handler.
  #
  #   auth = Godwit::Auth.new
  #   auth.curve(dir: "/etc/app/clients")
  #   auth.allow("10.0.0.0/8")
  #   rep = Godwit::REP.bind("tcp://*:5555", curve: keys, auth: "billing")
  #   rep.serve(messages: true) { |message| "hello #{message.user_id}" }
  #
  # **How rules apply**: the Auth checks `deny` first, then `allow`, then the rule of the mechanism.
  # In a domain with an `allow` rule, a client's address must match an `allow` rule. NULL needs no
  # rule. A PLAIN or CURVE client without a rule for its mechanism gets a 300 in the first 5 s after
  # `new`, while the program adds rules, and a 400 from then on. For its
  # domain, a rule with `domain:` replaces the rule of the same kind without `domain:`. The Auth
  # applies the rules of the moment at which a request arrived.
  #
  # **Answers**: 200, 400 (refused: libzmq's client never tries again) and 300 (the client
  # reconnects by itself). A client gets a 300 if a block raised, a block exceeded `timeout:`, no
  # worker was free, the Auth is starting, or the Auth could not check the rule, such as an
  # unreadable file. The Auth prints equal warnings at most once a second.
  #
  # **Threads**: any thread may call any method. Blocks run on threads of the Auth, at most
  # `workers:` at the same time. A block that hangs occupies its worker until the block ends.
  # Client addresses take turns, and the last free worker runs a block only for an address that has
  # no running block. So one address occupies at most `workers: - 1` workers, and at least one.
  # **Fork**: in a child every method raises {ForkedError}; sockets with `auth:` refuse all clients
  # until the child creates its own Auth. **Garbage collector**: an Auth serves until a `close` of
  # the Auth or of its context.
  #
  # @see https://rfc.zeromq.org/spec/27/ RFC 27
  class Auth
    extend Keywords

    # Default of `timeout:`, in seconds.
    TIMEOUT = 5
    # Default of `workers:`, in threads.
    WORKERS = 4

    # Starts to decide about clients.
    # @param context [Context, nil] nil: {Godwit.context}
    # @param timeout [Integer, Float] seconds that a client waits for a block, more than 0
    # @param workers [Integer] threads that run blocks, 1 or more. With 2 or more, the clients of
    #   one address cannot occupy all of them
    # @raise [AddressInUseError] when the context has an authenticator
    # @raise [ArgumentValueError, ArgumentTypeError] when an argument is not allowed
    # @raise [ClosedError, ForkedError] when the context is closed, or belongs to another process
    # @raise [UnsupportedError] in another Ractor than the main one
    # @raise [ThreadError] when the Auth's thread cannot start
    def initialize(context: nil, timeout: TIMEOUT, workers: WORKERS)
      check_ractor
      unless timeout.is_a?(Numeric) && timeout.real? && timeout.positive? && timeout.to_f.finite?
        raise Errors.bad_value(:auth, "timeout:", "seconds, more than 0", timeout)
      end
      Errors.check_positive(:auth, "workers:", "a number of threads, 1 or more", workers)
      @context = Context.of(context, :auth)
      @handler = Handler.new(@context, timeout, workers, self.class.name)
    end

    # @return [Context] the context whose servers the Auth protects
    attr_reader :context

    # Sets the rule for CURVE clients. The rule replaces the former rule of the same domain at once.
    # The Auth checks the sources in the order `dir:`, `keys:`, block. The first source that knows
    # the key gives the user id.
    # @param dir [String, #to_path, CertStore, nil] a certificate directory; the user id is the
    #   certificate's name
    # @param keys [Hash{String => String, Cert}, :any] public keys by user id. :any accepts
    #   every key, and the key is the user id
    # @param domain [String, nil] nil: all domains without a rule of their own
    # @yieldparam key [String] the client's public key, Z85
    # @yieldparam request [Request]
    # @yieldreturn [String, nil] a user id (1 to 255 bytes of UTF-8 without NUL); nil refuses the
    #   client
    # @return [self]
    # @raise [CurveKeyError] for a malformed key
    # @raise [CertError] when the directory is missing or cannot be read
    # @raise [ArgumentValueError, ArgumentTypeError] when there is no source, or an invalid one
    # @raise [ForkedError]
    def curve(dir: nil, keys: Timeout::UNSET, domain: nil, &block)
      Keywords.refuse_nil(:curve, keys: keys)
      keys = nil if keys.equal?(Timeout::UNSET)
      add(:curve, domain) { Mechanism::Curve.new(dir, keys, block) }
    end

    # Sets the rule for PLAIN clients. The rule replaces the former rule of the same domain at once.
    # The Auth checks the sources in the order `users:`, `file:`, block. The user id is the name, or
    # the value that the block returns.
    # @param users [Hash{String => String}, nil] passwords by name, 1 to 255 bytes each
    # @param file [String, #to_path, nil] lines `NAME=PASSWORD`, as in CZMQ. The Auth reads
    #   the file again when the file changes
    # @param domain [String, nil] as {#curve}
    # @yieldparam name [String]
    # @yieldparam password [String]
    # @yieldparam request [Request]
    # @yieldreturn [String, nil] as {#curve}
    # @return [self]
    # @raise [CertError] when the file cannot be read, or others may read it
    # @raise [ArgumentValueError, ArgumentTypeError] when there is no source, or an invalid one
    # @raise [ForkedError]
    def plain(users: nil, file: nil, domain: nil, &block)
      add(:plain, domain) { Mechanism::Plain.new(users, file, block) }
    end

    # Allows clients with these addresses. The Auth refuses clients whose address matches no `allow`
    # rule of the domain. Each call adds to the rules of earlier calls for the domain.
    # @param addresses [Array<String>] IP addresses and CIDR ranges; an ipc client matches none
    # @param uid [Integer, Array<Integer>, nil] user ids of the system, for ipc clients
    # @param domain [String, nil] as {#curve}
    # @return [self]
    # @raise [ArgumentValueError] when there is no address and no `uid:`, or an invalid one
    # @raise [ForkedError]
    def allow(*addresses, uid: nil, domain: nil)
      extend_rule(:allow, addresses, uid, domain)
    end

    # Refuses clients with these addresses, even if an `allow` rule matches. Each call adds to the
    # rules of earlier calls for the domain.
    # @param addresses [Array<String>] as {#allow}
    # @param uid [Integer, Array<Integer>, nil] as {#allow}
    # @param domain [String, nil] as {#curve}
    # @return [self]
    # @raise [ArgumentValueError, ForkedError] as {#allow}
    def deny(*addresses, uid: nil, domain: nil)
      extend_rule(:deny, addresses, uid, domain)
    end

    # Removes the rules of a domain.
    # @param domain [String, nil] nil: the rules without `domain:`
    # @return [self]
    # @raise [ForkedError]
    def reset(domain: nil)
      check_domain(:reset, domain)
      @handler.change { |rules| rules.without(domain) }
      self
    end

    # Calls the block with each decision, in order, after the Auth sent the answer. Without a block,
    # removes the former block.
    # @yieldparam decision [Decision]
    # @return [self]
    # @raise [ForkedError]
    def on_decision(&block)
      @handler.check_process
      @handler.on_decision = block
      self
    end

    # Looks up a certificate in the directories of the curve rules.
    # @param user_id [String, nil] such as {Message#user_id}
    # @param domain [String, nil] the server's domain. nil: the directories of all domains, first
    #   the directory of the rule without `domain:`
    # @return [Cert, nil]
    # @raise [CertError] when a directory cannot be read
    # @raise [ForkedError]
    def cert(user_id, domain: nil)
      @handler.check_process
      check_domain(:cert, domain)
      rules = @handler.rules
      kind = Mechanism::Curve
      rule = domain && (rules.at(kind, domain) || rules.at(kind, nil))
      stores = (domain ? [rule] : rules.all(kind)).filter_map { |one| one&.store }
      user_id && stores.each { |store| (found = store[user_id]) and return found }
      nil
    end

    # Stops the Auth. libzmq then finds no authenticator, and sockets with `auth:` refuse all
    # clients. `close` waits for no block and ends no connection. A second call does nothing.
    # @return [nil]
    # @raise [ForkedError]
    def close = @handler.close

    # @return [Boolean] whether the Auth or its context is closed
    # @raise [ForkedError]
    def closed? = @handler.closed?

    # @return [String]
    def inspect
      state =
        if @handler.forked? then " of another process"
        elsif closed? then " (closed)"
        end
      "#<#{self.class}#{state}>"
    end
    alias_method :to_s, :inspect

    # @private
    def initialize_copy(_original)
      raise Errors.build(UnsupportedError, :dup, nil,
        "an Auth cannot be copied: share this one, any thread may use it")
    end

    private

    # Only the main Ractor can read the Hash that has all running Handlers.
    def check_ractor
      return if Runtime.main_ractor?
      raise Errors.build(UnsupportedError, :auth, nil,
        "an Auth lives in the main Ractor only: create it there")
    end

    def add(operation, domain)
      @handler.check_process
      check_domain(operation, domain)
      rule = yield
      @handler.change { |rules| rules.with(rule.class, domain, rule) }
      self
    end

    def extend_rule(kind, addresses, uid, domain)
      @handler.check_process
      check_domain(kind, domain)
      more = Addresses.make(kind, addresses, uid)
      @handler.change do |rules|
        known = rules.at(kind, domain)
        rules.with(kind, domain, known ? known + more : more)
      end
      self
    end

    def check_domain(operation, domain)
      return if domain.nil? || (domain.is_a?(String) && Socket::Authentication.domain?(domain))
      raise Errors.bad_value(operation, "domain:",
        "1 to 255 bytes without NUL, or nil for all domains without a rule", domain)
    end
  end
end

# The handler's files need the class above.
require_relative "auth/handler"
