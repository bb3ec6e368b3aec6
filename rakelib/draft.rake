# frozen_string_literal: true

require_relative "support/draft_library"

desc "Build a libzmq with drafts from Debian's source package, outside the repository (quick " \
  "when it is there)"
task(:draft) { puts Godwit::DraftLibrary.new.build }
