# frozen_string_literal: true

# For the edge, and for H2O.
->(_env) { [200, {"content-type" => "text/plain"}, ["hello\n"]] }
