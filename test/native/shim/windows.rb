# frozen_string_literal: true

require "fiddle"

# The functions of windows.c, for a child that loads it before libzmq.
module Windows
  %i[mid_message looks sends closed_under_wait].each do |name|
    function =
      Fiddle::Function.new(Fiddle::Handle::DEFAULT["windows_#{name}"], [], Fiddle::TYPE_LONG)
    define_singleton_method(name) { function.call }
  end

  # Makes the next receive get that signal.
  def self.signal(name)
    Fiddle::Function.new(
      Fiddle::Handle::DEFAULT["windows_signal"], [Fiddle::TYPE_INT], Fiddle::TYPE_VOID
    ).call(Signal.list.fetch(name))
  end
end
