# frozen_string_literal: true

module Edge
  class << self
    # Asks a location of the same server, also an `internal` one: `proxy_pass` there reaches an
    # upstream. A request may fetch until it has its answer; an app's file cannot.
    # @param path [String] begins with "/"; may have a query; bytes that are not allowed there are
    #   written as %XX
    # @param method [String, Symbol]
    # @param headers [Hash{String => String, Integer, Array}] the location gets these, the client's
    #   Host, and Content-Length if there is a body; an Array is one line, with ", " between
    # @param body [String, nil]
    # @return [Response] also if the status says that the upstream is down (502) or late (504)
    # @raise [ArgumentError] an invalid path, method or header
    # @raise [ConnectionError] the answer has ended too early
    # @raise [Error] it has more than 1 MiB, or the request has its answer
    # @raise [WaitError] a wait is impossible there
    def fetch(path, method: "GET", headers: {}, body: nil)
      method = method.to_s.upcase
      if method.empty? || method.bytes.any? { |byte| byte < 65 || byte > 90 } # A to Z
        raise ArgumentError, "the method #{method.inspect} is not one of HTTP, such as GET"
      end
      _fetch(path, method, headers, body)
      Response.new(*wait)
    end
  end
end
