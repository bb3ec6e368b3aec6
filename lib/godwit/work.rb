# frozen_string_literal: true

# `require "godwit/work"` may find this file first, which then loads the gem godwit-work's file.
begin
  gem "godwit-work" if respond_to?(:gem, true)
rescue LoadError
  nil # the gem is not installed, not in the Gemfile, or on the load path without RubyGems
end
found = $LOAD_PATH.map { |folder| File.expand_path("godwit/work.rb", folder.to_s) }
  .find { |path| path != __FILE__ && File.file?(path) }
unless found
  raise LoadError, "godwit/work is in another gem: gem install godwit-work; in a Gemfile: " \
    "gem \"godwit-work\""
end
require found
