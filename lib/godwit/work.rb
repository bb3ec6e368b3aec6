# frozen_string_literal: true

# `require "godwit/work"` finds this file before that of the gem godwit-work, or without that gem.
begin
  gem "godwit-work" if respond_to?(:gem, true)
rescue LoadError
  nil # the gem is not installed, not in the Gemfile, or on the load path
end
found = $LOAD_PATH.map { |folder| File.expand_path("godwit/work.rb", folder.to_s) }
  .find { |path| path != __FILE__ && File.file?(path) }
unless found
  raise LoadError, "godwit/work is in another gem: gem install godwit-work; in a Gemfile: " \
    "gem \"godwit-work\""
end
require found
