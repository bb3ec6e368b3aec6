# frozen_string_literal: true

module Edge
  # `rack.input`: the body of a request, which nginx has read.
  class Input
    LINE = 128 # bytes of the body in which `gets` looks for a newline first
    MOST = 65_536 # an Array of mruby 3.3 has at most 131,072 elements

    # @param body [String]
    def initialize(body)
      @body = body
      @at = 0
    end

    # @param length [Integer, nil] bytes at most; nil: the rest
    # @param buffer [String, nil] gets the bytes
    # @return [String, nil] nil: a length was given, and nothing is left
    def read(length = nil, buffer = nil)
      left = @body.bytesize - @at
      size = length ? [length, left].min : left
      found = (size > 0) ? @body.byteslice(@at, size) : ""
      @at += size
      buffer&.replace(found)
      (length && length > 0 && size == 0) ? nil : found
    end

    # @return [String, nil] the next line; nil: none is left
    def gets
      from = @at
      size = LINE
      return if from >= @body.bytesize
      until (newline = @body.byteslice(from, size).bytes.index(10))
        from += size
        return read if from >= @body.bytesize
        size = [2 * size, MOST].min
      end
      read(from + newline + 1 - @at)
    end

    # @yieldparam line [String]
    def each
      while (line = gets)
        yield line
      end
      self
    end

    # @return [Integer] 0
    def rewind = @at = 0

    # @return [Integer] bytes
    def size = @body.bytesize

    EMPTY = new("")
  end

  class << self
    # @param env [Hash] of a request
    # @return [Object] its body, parsed
    # @raise [BadRequest] 400, with the offset, unless the app rescues it
    def json(env)
      input = env["rack.input"]
      input.rewind
      begin
        JSON.parse(input.read)
      rescue JSON::ParserError => error
        raise BadRequest.new(error.message, error.offset)
      end
    end
  end
end
