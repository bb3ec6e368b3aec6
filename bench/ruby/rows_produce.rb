# frozen_string_literal: true

# rows_produce.rb PATH many|bound|keys|one COUNT raw|json: writes COUNT records as rows, with the
# gem sqlite3 alone, by `execute` of a prepared statement.
#   many, keys: transactions of 1,000; one: a transaction for each
#   bound: as many, by `bind_param`, `step` and `reset!`, the gem's fastest calls
require_relative "work_common"
require "sqlite3"

path, how, count, format = ARGV[0], ARGV[1], Integer(ARGV[2]), ARGV[3]
database = SQLite3::Database.new(path)
["page_size=#{WorkCommon::PAGE}", "journal_mode=WAL", "synchronous=NORMAL"].each do |setting|
  database.execute("PRAGMA #{setting}")
end
database.execute("CREATE TABLE records (id INTEGER PRIMARY KEY, value BLOB, key TEXT)")
values = (format == "json") ? Array.new(1_000) { |one| WorkCommon.object(one) } :
  WorkCommon.values(format)
keys = WorkCommon.keys
columns = (how == "keys") ? "(value, key) VALUES (?, ?)" : "(value) VALUES (?)"
insert = database.prepare("INSERT INTO records #{columns}")
put = lambda do |index|
  value = values[index]
  value = JSON.generate(value).b if format == "json"
  case how
  when "keys" then insert.execute(value, keys[index])
  when "bound"
    insert.bind_param(1, value)
    insert.step
    insert.reset!
  else insert.execute(value)
  end
end

write = lambda do |number|
  if how == "one"
    number.times { |index| put.call(index % 1_000) }
  else
    (number / 1_000).times do
      database.execute("BEGIN IMMEDIATE")
      1_000.times(&put)
      database.execute("COMMIT")
    end
  end
  number
end
write.call([count / 10, 1_000].min)
Common.say(Common.measure { write.call(count) })
