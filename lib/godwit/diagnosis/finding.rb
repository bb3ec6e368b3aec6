# frozen_string_literal: true

module Godwit
  class Diagnosis
    # Why nothing comes or goes: a `reason` for programs, and for people its `cause` in a few words
    # and a `text` that ends with the fix. `endpoint` is the endpoint that it concerns; nil: all of
    # the socket's.
    Finding = Struct.new(:reason, :endpoint, :cause, :text) do
      def to_s = text
    end
  end
end
