# frozen_string_literal: true

module Godwit
  module Options
    # A reader and a writer of each socket option, such as `linger` and `linger=`; Booleans have a
    # reader with a `?` as well. Readers call `get`, writers `set`. Any thread may call the methods.
    # {file:docs/options.md} lists the options: their types, ranges, defaults.
    module SocketAccessors
    end

    # A reader and a writer of each context option, as for the socket options.
    module ContextAccessors
    end

    {SocketAccessors => SOCKET, ContextAccessors => CONTEXT}.each do |accessors, table|
      options = table.values.reject(&:by_hand?)
      readable = options.select(&:readable?)
      Runtime.define_accessors(accessors, readable.map(&:name),
        options.select(&:writable?).map(&:name))
      readable.select { |option| option.type == :bool }.each do |option|
        accessors.alias_method(:"#{option.name}?", option.name)
      end
    end
  end
end
