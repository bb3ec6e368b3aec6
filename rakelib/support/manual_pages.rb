# frozen_string_literal: true

require "fileutils"
require "godwit/cli"
require "godwit/cli/reference"

module Godwit
  # Writes the manual pages of `godwit` into man/man1: one of the program, and one of each command
  # with its parts. The text comes from the commands' own tables, as their help does.
  module ManualPages
    FOLDER = File.expand_path("../../man/man1", __dir__)
    PROGRAM = CLI::PROGRAM
    ROFF = {"\\" => "\\e", "-" => "\\-", "`" => "\\(ga", "'" => "\\(aq"}.freeze
    Reference = CLI.const_get(:Reference)

    module_function

    # @return [Hash{String => String}] file name to text
    def pages
      commands = Reference.entries.group_by { |entry| entry.words.first }
      commands.to_h { |name, entries| ["#{PROGRAM}-#{name}.1", command_page(name, entries)] }
        .merge("#{PROGRAM}.1" => program_page(commands.keys))
    end

    # Writes the files, and deletes those of former commands.
    def write
      FileUtils.mkdir_p(FOLDER)
      found = pages
      (Dir.children(FOLDER) - found.keys).each { |file| File.delete(File.join(FOLDER, file)) }
      found.each { |file, text| File.write(File.join(FOLDER, file), text) }
    end

    def program_page(names)
      commands = names.map do |name|
        tagged("\\fB#{plain("#{PROGRAM}-#{name}")}\\fR(1)", plain(CLI.command(name).summary))
      end
      [
        head(PROGRAM, "sockets, logs and measurements of ZeroMQ in the shell"),
        section("SYNOPSIS", "\\fB#{PROGRAM}\\fR \\fICOMMAND\\fR [\\fIoptions\\fR]"),
        section("COMMANDS", *commands),
        section("ENDPOINTS", plain("tcp://HOST:PORT, ipc://PATH, ipc://@NAME. An empty host is " \
          "127.0.0.1: tcp://:5555. tcp://*:5555 listens on all interfaces.")),
        statuses
      ].join
    end

    def command_page(name, entries)
      command, *parts = entries
      [
        head("#{PROGRAM}-#{name}", command.command.class.summary),
        section("SYNOPSIS", *(parts.empty? ? entries : parts).map { |entry| usage(entry) }),
        *(parts.empty? ? command_sections(command) : part_sections(parts)),
        statuses,
        section("SEE ALSO", "\\fB#{PROGRAM}\\fR(1)")
      ].join
    end

    def command_sections(entry)
      notes = entry.command.class.notes
      [*(section("DESCRIPTION", text(notes)) if notes), section("OPTIONS", *options(entry))]
    end

    def part_sections(parts) = [section("COMMANDS", *parts.map { |one| part(one) })]

    def part(entry)
      notes = entry.command.class.notes
      subject = plain("#{PROGRAM} #{entry.words.join(" ")}")
      [".SS #{subject}\n#{line(plain(entry.command.class.summary))}", *options(entry),
        *(".PP\n#{text(notes)}" if notes)].join("\n")
    end

    def usage(entry)
      entry.command.class.usage.lines(chomp: true).map do |one|
        line("\\fB#{PROGRAM}\\fR #{plain(one.strip.delete_prefix("#{PROGRAM} "))}")
      end.join("\n.br\n") + "\n.br"
    end

    def options(entry)
      entry.options.map do |option|
        names = option.names.map { |name| "\\fB#{plain(name)}\\fR" }.join(", ")
        tagged("#{names}#{" \\fI#{plain(option.value)}\\fR" if option.value}", plain(option.text))
      end
    end

    def statuses
      section("EXIT STATUS", *CLI::EXIT.map do |name, status|
        tagged("\\fB#{status}\\fR", plain(CLI::EXIT_MEANINGS[name]))
      end)
    end

    def head(name, summary)
      ".TH #{plain(name.upcase)} 1 \"\" \"godwit #{VERSION}\"\n" +
        section("NAME", "#{plain(name)} \\- #{plain(summary.delete_suffix("."))}")
    end

    def section(name, *texts) = ".SH #{name}\n#{texts.join("\n")}\n"

    def tagged(tag, text) = ".TP\n#{tag}\n#{line(text)}"

    # Indented lines are a table.
    def text(notes)
      notes.chomp.lines(chomp: true).slice_when { |a, b| (a[0] == " ") ^ (b[0] == " ") }
        .map do |lines|
          body = lines.map { |one| line(plain(one)) }.join("\n")
          (lines.first[0] == " ") ? ".nf\n#{body}\n.fi" : body
        end.join("\n")
    end

    # A dot at the start of a line is a request.
    def line(text) = text.sub(/\A(?=[.'])/, "\\\\\\&")

    def plain(text)
      text.gsub(/[\\\-`']/, ROFF).gsub(/[^\x00-\x7f]/) { |one| format("\\[u%04X]", one.ord) }
    end
  end
end
