# frozen_string_literal: true

namespace :readme do
  desc "Take README.md's figures from bench/RESULTS.md"
  task :figures do
    require_relative "../bench/support/excerpts"
    Bench::Excerpts.new.write
  end

  desc "Fail when README.md's figures, or bench/plots, are not those of bench/RESULTS.md"
  task :check do
    require_relative "../bench/support/plots"
    unless Bench::Excerpts.new.current?
      abort "README.md's figures are not those of bench/RESULTS.md: rake readme:figures"
    end
    unless Bench::Plots.new.current?
      abort "bench/plots are not those of bench/RESULTS.md: rake bench:plots"
    end
  end
end
