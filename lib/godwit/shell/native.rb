# frozen_string_literal: true

module Godwit
  module Shell
    if BACKEND == :native
      Primitives = Backend::Native
      private_constant :Primitives
    else
      require_relative "primitives"
    end
  end
end
