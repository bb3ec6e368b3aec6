# frozen_string_literal: true

require_relative "../test_helper"
require_relative "made_records"

# Godwit::Logger::View: the lines of `godwit log tail`.
class LoggerViewTest < Godwit::TestCase
  include MadeRecords

  View = Godwit::Logger::View
  Record = Godwit::Logger::Record
  AT_NS = Time.new(2026, 11, 20, 12, 31, 7).to_i * 1_000_000_000 + 123_456_000

  def record(text = "card refused", level: 3, t_ns: AT_NS, **header)
    super(text, seq: 7, level: level, t_ns: t_ns, **header) or flunk "no record"
  end

  def plain(line) = Record.parse(line.b)

  def line(record, **options) = View.new(**options).line(record)

  test "the line: time, level, host, program and pid, tags, text, payload" do
    {
      record(tags: ["req-9"], payload: {user: 42}) =>
        "12:31:07.123456 ERROR web1 billing[4242] [req-9] card refused  user=42\n",
      record(level: 1) => "12:31:07.123456 INFO  web1 billing[4242] card refused\n",
      record(level: 2, prog: "") => "12:31:07.123456 WARN  web1 -[4242] card refused\n",
      record("gr\u00fcn \u2713", pid: nil) =>
        "12:31:07.123456 ERROR web1 billing gr\u00fcn \u2713\n",
      plain("E, [2026-11-20T12:31:07.123456 #4242] ERROR -- billing: card refused\n") =>
        "12:31:07.123456 ERROR billing[4242] card refused\n",
      plain("<13>Nov 20 su: hello") => "--:--:--.------ ANY   <13>Nov 20 su: hello\n",
      plain("") => "--:--:--.------ ANY   \n"
    }.each { |record, wanted| assert_equal wanted, line(record) }
  end

  test "payload: bare words as they are, all else as JSON; tags that are no Strings" do
    payload = {
      user: 42, name: "anna", path: "/a/b?c", words: "a b", quote: '"', list: [1, "x"],
      deep: {a: nil}, none: nil, ok: true, empty: "", equal: "a=b"
    }
    shown =
      'user=42 name=anna path="/a/b?c" words="a b" quote="\\"" list=[1,"x"] deep={"a":null} ' \
      'none=null ok=true empty="" equal="a=b"'
    {
      record(payload: payload) => "card refused  #{shown}",
      record(payload: [1, 2]) => "card refused  [1,2]",
      record("", payload: {user: 42}) => "user=42", record(payload: {}) => "card refused",
      record(tags: [1, nil, {a: 2}]) => "[1] [null] [{\"a\":2}] card refused"
    }.each { |record, wanted| assert_equal wanted, View.message(record) }
  end

  test "a text of several lines has its later lines behind spaces, and the payload on its first" do
    forged = "12:31:08.000000 FATAL web1 billing[4242] forged"
    assert_equal "12:31:07.123456 ERROR web1 billing[4242] boom (Oops)  user=42\n    a.rb:1\n   " \
      " #{forged}\n", line(record("boom (Oops)\r\na.rb:1\n#{forged}\n", payload: {user: 42}))
    assert_equal 1, line(record("x", prog: "a\nb", host: "c\nd", tags: [1])).lines.size
    assert_match(/\A.* \[a\n    b\] x\n\z/, line(record("x", tags: ["a\nb"])))
  end

  FIELDS = View::FIELDS.map { |name| "%{#{name}}" }.join(" ")
  FORMS = [{}, {color: true, highlight: /./}, {format: FIELDS}, {format: :json}].freeze

  test "control characters, line separators and marks of direction are shown, not obeyed, " \
    "whatever the field and the format" do
    text = "a\e[2Jb\rc\0d\x7f\u0085\u009b\u2028\u202e\u2066z\te\a"
    shown = 'a\e[2Jb\rc\x00d\x7f\u0085\u009b\u2028\u202e\u2066z' + "\te\\x07"
    assert_equal "12:31:07.123456 ERROR web1 billing[4242] #{shown}\n", line(record(text))
    everywhere = record(
      text, prog: text, host: text, writer: text, tags: [text], payload: {text => text},
      thread: text
    )
    FORMS.each do |options|
      line = line(everywhere, **options).gsub(/\e\[[0-9;]*m/, "")
      assert_match(/\A[[:print:]\t]+\n\z/, line, options.inspect)
      refute_match(/[\u202e\u2066\u2028\u0085]/, line)
    end
  end

  test "bytes that are no UTF-8, at any place" do
    header =
      (%({"v":1,"writer":"#{WRITER}","seq":7,"tseq":3,"t_ns":1,"tags":["\\ud800","\xff"],) +
       %("payload":{"\\ud800":"\\udfff","l":["\\ud800"]},"thread":"\\ud800"})).b
    broken = Record.parse(["WARN.\xff.\xfe.".b, header, "t\xffx".b])
    FORMS.each { |options| assert_predicate line(broken, **options), :valid_encoding? }
    assert_includes line(broken), "t\ufffdx"
    # Newer versions of the gem json decode a lone surrogate, as in "\udfff", to invalid UTF-8.
    assert_equal '{"k\ufffd":["\ufffd",1,null]}'.gsub('\ufffd', "\ufffd"),
      View.json({"k\xff" => ["\xff", 1, nil]})
    assert_equal "t\ufffdx", JSON.parse(line(broken, format: :json))["text"]
  end

  test "a time that is none" do
    [0, 10**18, 9_999_999_999_999_999_999].each do |ns|
      assert_match(/\A(\d\d:\d\d:\d\d\.\d{6}|--:--:--\.------) ERROR/, line(record(t_ns: ns)))
    end
    assert_equal "----------\n", line(record(t_ns: 10**40), format: "%{date}")
    [10**40, -10**40, -1].each { |ns| assert_match(/ ERROR web1 /, line(record(t_ns: ns))) }
  end

  test "a custom format" do
    one = record(tags: ["req-9"], payload: {user: 42}, thread: 8)
    assert_equal "2026-11-20 12:31:07.123456 ERROR web1 billing 4242 8 #{WRITER} 7 [req-9] " \
      "card refused user=42 [req-9] card refused  user=42\n", line(one, format: FIELDS)
    assert_equal "<ERROR  > 100%\n", line(one, format: "<%-7<level>s> 100%%")
    ["%{nosuch}", "%d", "%<seq>d", "%", 7].each do |wrong|
      error = assert_raises(Godwit::ArgumentValueError) { View.new(format: wrong) }
      assert_includes error.message, "%{time}"
    end
  end

  test "colours: levels, programs, matches of grep; none without color:" do
    one = record("card refused, card lost", payload: {card: 1})
    colored = line(one, color: true, highlight: [/card/, /lost/])
    assert_includes colored, "\e[31mERROR\e[0m"
    assert_equal %w[card card lost card], colored.scan(/\e\[1;7m(.*?)\e\[0m/).flatten
    assert_equal line(one), colored.gsub(/\e\[[0-9;]*m/, "")
    refute_includes line(one, highlight: /card/), "\e"
    refute_equal line(one, color: true)[/\e\[\d+m(?=billing)/],
      line(record(prog: "billinh"), color: true)[/\e\[\d+m(?=billinh)/]
    assert_equal line(one, color: true), line(one, color: true, highlight: /^|x*/)
    assert_equal "\e[1;7mcard refused,\e[0m card lost",
      line(one, color: true, highlight: /\Acard \w+,/)[/\e\[1;7m.*lost/]
  end

  test "a match over several lines is inverse on each, and the spaces before them are not" do
    assert_includes line(record("one\ntwo\nthree"), color: true, highlight: /ne.*thr/m),
      "o\e[1;7mne\e[0m\n    \e[1;7mtwo\e[0m\n    \e[1;7mthr\e[0mee\n"
  end

  test "no message of another program raises" do
    random = Random.new(7)
    views = FORMS.map { |options| View.new(**options) }
    values = [nil, true, -1, 10**30, 1.5, "x", "\u202e", [], [[]], {}, {"a" => [{}]}]
    rounds(2_000, stressed: 50).times do
      header = Record::KEYS.to_h { |key| [key, values.sample(random: random)] }
      if random.rand(2).zero?
        time = [-10**30, 0, 10**18].sample(random: random)
        header.update("writer" => "w", "seq" => 1, "tseq" => 1, "t_ns" => time)
      end
      frames = ["ANY.a.b.".b, JSON.generate(header).b, random.bytes(9)]
      [Record.parse(frames), Record.parse(random.bytes(20))].compact.each do |one|
        views.each { |view| assert_predicate view.line(one), :valid_encoding? }
      end
    end
  end
end
