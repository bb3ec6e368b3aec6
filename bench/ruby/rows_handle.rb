# frozen_string_literal: true

# rows_handle.rb PATH THREADS COUNT: a queue in rows. Threads claim 10 rows a time, touch each and
# delete it. Each thread has a connection.
require_relative "work_common"
require "sqlite3"

PATH, THREADS, COUNT = ARGV[0], Integer(ARGV[1]), Integer(ARGV[2])
CLAIM = "UPDATE jobs SET claimed = 1 WHERE id IN " \
  "(SELECT id FROM jobs WHERE claimed = 0 ORDER BY id LIMIT 10) RETURNING id, value"

def connect
  SQLite3::Database.new(PATH).tap do |database|
    database.busy_handler_timeout = 10_000
    ["page_size=#{WorkCommon::PAGE}", "journal_mode=WAL", "synchronous=NORMAL"].each do |setting|
      database.execute("PRAGMA #{setting}")
    end
  end
end

def work(tally)
  database = connect
  claim = database.prepare(CLAIM)
  delete = database.prepare("DELETE FROM jobs WHERE id = ?")
  until (rows = claim.execute.to_a).empty?
    claim.reset!
    rows.each do |id, value|
      tally.touch(value)
      delete.execute(id)
    end
  end
end

database = connect
database.execute("CREATE TABLE jobs (id INTEGER PRIMARY KEY, value BLOB, key TEXT, " \
  "claimed INTEGER NOT NULL DEFAULT 0)")
insert = database.prepare("INSERT INTO jobs (value, key) VALUES (?, ?)")
values, keys = WorkCommon.values("raw"), WorkCommon.keys
database.transaction do
  COUNT.times { |index| insert.execute(values[index % 1_000], keys[index % 1_000]) }
end
tally = WorkCommon::Tally.new(COUNT) { nil }
Array.new(THREADS) { Thread.new { work(tally) } }.each(&:join)
