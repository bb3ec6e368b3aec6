# frozen_string_literal: true

require_relative "support/other_bundle"

desc "The gem iruby, Jupyter's kernel for Ruby, on Godwit; installs it into vendor/bundle"
task iruby: :compile do
  Godwit::OtherBundle.new("test/compat/iruby/iruby.gemfile").run("test/compat/iruby/kernel.rb")
end
