# frozen_string_literal: true

module Godwit
  module Backend
    # The primitives that a backend supplies. Arguments are positional, and options are numbers.
    # Durations are milliseconds: -1 is for ever, nil the socket's own time-out. A primitive that
    # waits gives nil, false or 0 when time is up. Primitives raise through Errors.build. The public
    # API above them has keywords, seconds and checks.
    #
    # _waiters counts the waiting threads and fibers, and a proxy's sleeping loop, for the tests. A
    # backend's module Takeover has its versions of `send`, `<<` and `recv`.
    # @private
    module Contract
      MODULE = %i[libzmq_version has draft? curve_keypair].freeze

      CONTEXT_CLASS = %i[_default _propose].freeze

      # The primitives of draft types. A backend whose `draft?` is false lacks them.
      DRAFT_SOCKET = %i[_set_group _connect_peer _send_to].freeze

      # A poller's _members and _wait give [object, events, object, events…]; events are bits: 1
      # readable, 2 writable, 4 error. A proxy's _control accepts :stop, :pause or :resume. Its
      # _observe accepts an object with `record`; the extension accepts only its own Statistics.
      CLASSES = {
        Context: %i[
          _open _get_option _set_option _linger _set_linger _shutdown _close _closed? _own? _pointer
        ],
        Socket: %i[
          _open _reopen _close _closed? _forked? _exclusive _record _bind _connect _unbind
          _disconnect _get_option _set_option _encoding _set_encoding _send _send_many _recv
          _recv_many _recv_into _recv_frame _recv_frames _copy_threshold _set_copy_threshold _wait
          _waiters _count_peers _wait_peers _fd _pointer
        ],
        Frame: %i[
          _open _size _slice _string _byte _in_place _compare _hash _more? _gone? _property
          _routing_id _group _encoding _close initialize_copy
        ],
        Tracker: %i[_open _sent _done? _wait],
        Monitor: %i[_open _next _close _closed? _dropped _pipes_stats _waiters],
        Poller: %i[
          _open _close _closed? _forked? _register _modify _remove _members _wait _waiters
        ],
        Proxy: %i[
          _open _observe _bound _acquire _release _loop _control _paused? _running? _forked?
          _counters _waiters
        ]
      }.freeze

      def self.check(backend)
        missing = MODULE.reject { |name| backend.respond_to?(name) }
        CONTEXT_CLASS.each do |name|
          missing << "Context.#{name}" unless Context.respond_to?(name, true)
        end
        CLASSES.each do |name, primitives|
          primitives += DRAFT_SOCKET if name == :Socket && backend.draft?
          lacking = primitives - Godwit.const_get(name).private_instance_methods
          missing.concat(lacking.map { |primitive| "#{name}##{primitive}" })
        end
        return if missing.empty?
        raise LoadError, "the backend #{backend} lacks #{missing.join(", ")}: rebuild the " \
          "extension (rake compile)"
      end
    end
  end
end
