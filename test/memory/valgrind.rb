# frozen_string_literal: true

require "fileutils"
require "rbconfig"
require "rexml/document"

module Godwit
  module TestSupport
    # Runs test files under valgrind, on an extension with debug information, and returns the
    # findings in Godwit's memory ("ours"). test/memory/README.md defines these findings.
    class Valgrind
      ROOT = File.expand_path("../..", __dir__)
      WORK = File.join(ROOT, "tmp/memory")
      SUPPRESSIONS = File.join(__dir__, "valgrind.supp")
      DEADLINE = 1800 # seconds for one process
      # Folder of the sources => the compiled extension.
      EXTENSIONS = {
        "ext/godwit" => "godwit/godwit_ext.so",
        "work/ext/kafka_ext" => "godwit/work/kafka_ext.so"
      }.freeze
      OURS = %r{/(godwit_ext|kafka_ext|libzmq)\.so}
      RUBY = %r{/(libruby[^/]*\.so|ruby[\d.]*\z)}
      BELOW = %r{/(vgpreload_|libstdc\+\+|libc\.so)}
      DEEPEST = 1 # at most so many functions of Ruby are between ZALLOC and calloc
      # This function gets a slot in Ruby's heap. It allocates memory only when it starts a garbage
      # collection, and then the collector owns that memory.
      SLOT = "rb_data_typed_object_wrap"
      RUBYS_ALLOCATORS = /\A(ruby_x\w+|rb_x\w+|ruby_mimmalloc|rb_data_(typed_)?object_\w+)\z/

      # Bytes: larger than any stack frame, smaller than the distance of two fibers' stacks (half a
      # megabyte), so that valgrind does not take a switch of fibers for a stack that grew.
      LARGEST_FRAME = 200_000

      # Bundler comes first: it puts lib/ at the front of the load path, and the extension for
      # valgrind must be in front of lib/.
      LOADER = <<~RUBY
        require "bundler/setup"
        $LOAD_PATH.unshift("#{ROOT}/test", "#{ROOT}/work/test", "#{WORK}/lib")
        ARGV.shift(Integer(ARGV.shift)).each { |file| require File.join("#{ROOT}", file) }
        require "godwit"
        others = $LOADED_FEATURES.grep(/(godwit|kafka)_ext/).grep_v(%r{\\A#{WORK}/})
        abort "not the extension for valgrind: \#{others}" if others.any?
      RUBY

      # One of valgrind's findings: its kind, its message, its stacks of [object, function,
      # file:line], and the text about the address.
      Finding = Struct.new(:kind, :what, :stacks, :address) do
        def leak? = kind.start_with?("Leak_")

        def ours?
          if leak?
            leaked_by_us?
          else
            !of_a_stack? && stacks.any? { |stack| stack.any? { |object, *| object.match?(OURS) } }
          end
        end

        def to_s
          [
            what,
            *stacks.flat_map do |stack|
              ["  --", *stack.first(12).map { |_, function, place| "  #{function} (#{place})" }]
            end
          ].join("\n")
        end

        private

        # The stack of a fiber is mapped memory. Debian's Ruby does not tell valgrind how much of
        # the stack is in use. A block that Godwit frees too soon is malloc's memory, not a stack.
        def of_a_stack? = address.to_s.match?(/anonymous segment|stack/)

        # Ruby does not free the memory of its own objects at exit, even if the extension created
        # the object.
        def leaked_by_us?
          return false unless kind == "Leak_DefinitelyLost"
          above = stacks.first.drop_while { |object, *| object.match?(BELOW) }
          rubys = above.take_while { |object, *| object.match?(RUBY) }
          caller = above.drop(rubys.size).first
          !!caller&.first&.match?(OURS) && (rubys.empty? || for_us?(rubys))
        end

        # Whether Ruby allocated this memory for the extension's ZALLOC or ALLOC. Without function
        # names the depth decides: ZALLOC calls calloc directly, Ruby's Strings and Arrays use
        # malloc, and in a deeper stack Ruby creates a class or collects garbage.
        def for_us?(rubys)
          names = rubys.map { |_, function, _| function }
          return false if names.include?(SLOT)
          return names.last.match?(RUBYS_ALLOCATORS) unless names.last == "???"
          stacks.first.first[1] == "calloc" && names.size <= DEEPEST
        end
      end

      class << self
        # Whether the file uses fibers: valgrind loses track of memory written in their stacks.
        def fibers?(file) = File.read(File.join(ROOT, file)).match?(/Fiber|[Aa]sync|Scheduler/)

        # Compiles each extension with -g and little optimisation, so that stacks are readable, in a
        # folder separate from the usual build.
        def build
          EXTENSIONS.each do |source, library|
            folder = "#{WORK}/build/#{File.basename(source)}"
            FileUtils.mkdir_p([folder, File.dirname("#{WORK}/lib/#{library}")])
            options = {chdir: folder, out: "#{folder}/build.log", err: %i[child out]}
            system(RbConfig.ruby, "#{ROOT}/#{source}/extconf.rb", **options) &&
              system("make", "ARCH_FLAG=-g -O1", **options) ||
              abort("the extension does not compile: #{folder}/build.log")
            # Renames the new file instead of overwriting the old one, which another run may use.
            FileUtils.cp("#{folder}/#{File.basename(library)}", "#{WORK}/lib/#{library}.new")
            FileUtils.mv("#{WORK}/lib/#{library}.new", "#{WORK}/lib/#{library}")
          end
        end

        def installed? = system("command -v valgrind >/dev/null")
      end

      # @param files [Array<String>] test files, relative to the project's root, to run in the same
      #   process
      def initialize(files)
        @files = files
        @name = files.first.tr("/", "-").delete_suffix(".rb")
      end

      # @return [Array<Finding>] the findings in Godwit's memory
      def run
        FileUtils.mkdir_p(WORK)
        @log = "#{WORK}/#{@name}.log"
        @xml = "#{WORK}/#{@name}.xml"
        FileUtils.rm_f(@xml)
        pid =
          Process.spawn(
            env, *command, out: @log, err: %i[child out], in: File::NULL, chdir: ROOT, pgroup: true
          )
        wait(pid)
        findings.select(&:ours?)
      end

      # @return [String] minitest's line of results
      def summary
        File.read(@log)[/^\d+ runs, .*$/] || "did not come to its end: #{@log}"
      end

      # @return [Boolean] whether tests ran to the end, with any result: some tests are too slow
      #   under valgrind to pass
      def ended? = File.read(@log).match?(/^[1-9]\d* runs, [1-9]/)

      # @return [Array<String>] the tests that failed
      def failures = File.read(@log).scan(/^\s+\d+\) (?:Failure|Error):\n(\S+)/).flatten

      private

      def env
        {
          "GODWIT_TEST_GC" => "valgrind", "BUNDLE_GEMFILE" => "#{ROOT}/Gemfile", "RUBYOPT" => nil,
          "RUBYLIB" => nil, "BUNDLER_SETUP" => nil
        }
      end

      def command
        fibers = @files.any? { |file| self.class.fibers?(file) }
        [
          "valgrind", "--xml=yes", "--xml-file=#{@xml}", "--suppressions=#{SUPPRESSIONS}",
          "--num-callers=40", "--leak-check=full", "--fair-sched=try", "--show-leak-kinds=definite",
          "--errors-for-leak-kinds=definite", "--error-limit=no", "--trace-children=no",
          "--child-silent-after-fork=yes", "--max-stackframe=#{LARGEST_FRAME}",
          "--undef-value-errors=#{fibers ? "no" : "yes"}",
          RbConfig.ruby, "-e", LOADER, @files.size.to_s, *@files
        ]
      end

      def wait(pid)
        finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + DEADLINE
        until Process.wait(pid, Process::WNOHANG)
          Process.kill(:KILL, -pid) if Process.clock_gettime(Process::CLOCK_MONOTONIC) > finish
          sleep 0.1
        end
      end

      # The XML file of a killed process is incomplete, so only its whole <error> elements count.
      def findings
        # Most findings are in Ruby's own code. REXML is slow, so it parses only findings whose
        # stack has a library of OURS.
        ours = File.read(@xml).scan(%r{<error>.*?</error>}m).grep(OURS)
        REXML::Document.new("<all>#{ours.join}</all>").root.elements.map do |error|
          Finding.new(
            error.text("kind"), error.text("what") || error.text("xwhat/text"),
            error.get_elements("stack").map { |stack| frames(stack) }, error.text("auxwhat")
          )
        end
      end

      def frames(stack)
        stack.get_elements("frame").map do |frame|
          place =
            (
              if frame.text("file")
                "#{frame.text("file")}:#{frame.text("line")}"
              else
                File.basename(frame.text("obj").to_s)
              end
            )
          [frame.text("obj").to_s, frame.text("fn") || "???", place]
        end
      end
    end
  end
end
