# frozen_string_literal: true

# libzmq's numbers, and this system's errnos.
module ZMQ
  HAUSNUMERO = 156_384_712

  numbers = {
    XREQ: 5, XREP: 6, NULL: 0, PLAIN: 1, CURVE: 2, DONTWAIT: 1, NOBLOCK: 1, SNDMORE: 2, SNDLABEL: 4,
    MORE: 1, IO_THREADS: 1, MAX_SOCKETS: 2, IO_THREADS_DFLT: 1, MAX_SOCKETS_DFLT: 1023, POLL: 1,
    POLLIN: 1, POLLOUT: 2, POLLERR: 4, STREAMER: 1, FORWARDER: 2, QUEUE: 3, BLOCKY: 70,
    XPUB_VERBOSE_UNSUBSCRIBE: 78, EFSM: HAUSNUMERO + 51, ENOCOMPATPROTO: HAUSNUMERO + 52,
    ETERM: HAUSNUMERO + 53, EMTHREAD: HAUSNUMERO + 54
  }
  # On a system without these errnos, libzmq numbers them in this order from HAUSNUMERO + 1 on.
  %i[
    ENOTSUP EPROTONOSUPPORT ENOBUFS ENETDOWN EADDRINUSE EADDRNOTAVAIL ECONNREFUSED EINPROGRESS
    ENOTSOCK EMSGSIZE EAFNOSUPPORT ENETUNREACH ECONNABORTED ECONNRESET ENOTCONN ETIMEDOUT
    EHOSTUNREACH ENETRESET
  ].each.with_index(1) do |name, index|
    numbers[name] = Errno.const_defined?(name) ? Errno.const_get(name)::Errno : HAUSNUMERO + index
  end
  %i[EAGAIN EINVAL ENOMEM ENODEV EFAULT EINTR EMFILE].each do |name|
    numbers[name] = Errno.const_get(name)::Errno
  end
  types = Godwit::SOCKET_TYPES.except(*Godwit::DRAFT_TYPES)
  numbers.merge!(types)
  Godwit::Monitor::KINDS.each { |kind| numbers[:"EVENT_#{kind.name.upcase}"] = kind.bit }
  numbers[:EVENT_ALL] = 0x7ff # the events that ffi-rzmq knew
  # The constants include options that ffi-rzmq did not know.
  Godwit::Options::SOCKET.each_value do |option|
    [option.const, *option.also].each { |name| numbers[name.to_sym] ||= option.id }
  end
  numbers.each { |name, number| const_set(name, number) }

  # The names of the socket types, by number.
  SocketTypeNameMap = types.to_h { |name, id| [id, name.to_s] }.freeze

  ids = Godwit::Options::SOCKET.each_value.group_by do |option|
    case option.type
    when :int64, :uint64 then :long_long
    when :bytes, :text, :key, :id32 then :string
    else (option.name == :recv_more) ? :long_long : :integer
    end
  end
  ids.transform_values! { |options| options.map(&:id).uniq.sort.freeze }
  # Options whose value is an int.
  IntegerSocketOptions = ids[:integer]
  # Options whose value has 64 bits, and RCVMORE, which had 64 bits in libzmq 2.
  LongLongSocketOptions = ids[:long_long]
  # Options whose value is a String of bytes.
  StringSocketOptions = ids[:string]
  SocketOptions = ids.values.flatten.sort.freeze
end
