# frozen_string_literal: true

require "godwit"

# Sends each request back as its reply.
router = Godwit::ROUTER.bind(ARGV.fetch(0))
loop { router.send_many(router.recv_many(64)) }
