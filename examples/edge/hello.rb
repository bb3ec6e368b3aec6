# frozen_string_literal: true

# The smallest application of the edge:
#
#   edge/exe/godwit-edge examples/edge/hello.rb -p 8080
#   curl localhost:8080
run ->(_env) { [200, {"content-type" => "text/plain"}, ["hello\n"]] }
