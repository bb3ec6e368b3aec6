# frozen_string_literal: true

module Edge
  # An answer, as the calls give it that ask a location or an app.
  class Response
    # @return [Integer]
    attr_reader :status

    # @return [Hash{String => String, Array<String>}] by names in lower case; an Array has the
    #   values of several lines
    attr_reader :headers

    # @return [String]
    attr_reader :body

    # @private
    def initialize(status, headers, body)
      @status = status
      @headers = headers
      @body = body
    end
  end
end
