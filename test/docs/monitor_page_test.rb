# frozen_string_literal: true

require_relative "../test_helper"
require_relative "page"

# docs/monitor.md shows every event, protocol error and status code, with Godwit::Monitor's texts.
class MonitorPageTest < Godwit::TestCase
  PAGE = Page.new("docs/monitor.md")

  test "the page lists every event, with its text and the method that makes sense of its value" do
    methods = {
      fd: :fd, errno: :error, interval: :interval, protocol: :protocol_error, status: :status,
      counts: :values
    }
    assert_equal Godwit::Monitor::KINDS.map { |kind|
      [kind.name.to_s, methods[kind.value]&.to_s, kind.text]
    }, rows("event", 3).map { |name, value, text| [name, value[/`(\w+)`/, 1], text] }
  end

  test "the page lists every protocol error, and every status" do
    assert_equal Godwit::Monitor::PROTOCOL_ERRORS.values.map { |name, text| [name.to_s, text] },
      rows("protocol_error", 2)
    assert_equal Godwit::Monitor::STATUSES.map { |code, text| [code.to_s, text] }, rows("status", 2)
  end

  private

  # @return [Array<Array<String>>] cells of the table with this first heading
  def rows(heading, columns)
    table = PAGE.text[/^\| #{heading} \|.*\n\| ---.*\n((?:\|.*\n)+)/, 1]
    table.lines.map do |line|
      line
        .split("|")
        .map { |cell| cell.strip.delete_prefix("`") }
        .slice(1, columns)
        .tap { |cells| cells[0].delete_suffix!("`") }
    end
  end
end
