# frozen_string_literal: true

# godwit_perf.rb ARGUMENTS: `godwit perf ARGUMENTS`, by the backend that GODWIT_BACKEND names.
require "godwit/cli"

exit Godwit::CLI.run(["perf", *ARGV])
