# frozen_string_literal: true

desc "Make the C table, the accessors, their types and the reference pages from api/*.yml"
task :generate do
  ruby "api/generate.rb"
end

namespace :generate do
  desc "Fail when the generated files are not what api/*.yml makes them"
  task :check do
    ruby "api/generate.rb", "--check"
  end
end
