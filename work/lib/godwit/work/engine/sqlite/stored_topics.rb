# frozen_string_literal: true

module Godwit
  module Work
    # The topics in an SQLite file.
    # @private
    class StoredTopics
      TOPICS = <<~SQL
        SELECT name, format, partitioner, retain, retain_bytes, group_concat(p.id)
        FROM godwit_topics t JOIN godwit_partitions p ON p.topic = t.id GROUP BY t.id ORDER BY name
      SQL

      def initialize(file, processes)
        @file = file
        @processes = processes
      end

      # @return [Hash{String => Topic}] the topics by name
      def all
        return load(@file.database) if @file.owned? # inside a handler's transaction
        @file.use { |database| load(database) }
      end

      # Creates or changes a topic. A group begins at offset 0 in a new partition.
      def save(topic)
        saved = @file.transaction do |database|
          found = load(database)[topic.name]
          if topic.ids
            alter(database, found, topic)
          elsif found.nil?
            insert(database, topic)
          end
          load(database)[topic.name]
        end
        @processes.wake if topic.ids
        saved
      end

      # @return [Hash{String => Topic}] the topics by name
      def load(database)
        database.rows(TOPICS).to_h do |name, format, partitioner, retain, bytes, ids|
          ids = ids.split(",").map(&:to_i).sort
          [name, Topic.new(name: name, partitions: ids.size, format: format,
            partitioner: partitioner.to_sym, retain: retain, retain_bytes: bytes,
            ids: ids).freeze]
        end
      end

      private

      def insert(database, topic)
        id = database.value("INSERT INTO godwit_topics (name, format, partitioner, retain, " \
          "retain_bytes) VALUES (?, ?, ?, ?, ?) RETURNING id", topic.name, topic.format,
          topic.partitioner.to_s, topic.retain, topic.retain_bytes)
        topic.partitions.times do |number|
          database.rows("INSERT INTO godwit_partitions (topic, number) VALUES (?, ?)", id, number)
        end
      end

      def alter(database, found, topic)
        database.rows("UPDATE godwit_topics SET retain = ?, retain_bytes = ? WHERE name = ?",
          topic.retain, topic.retain_bytes, topic.name)
        (found.partitions...topic.partitions).each { |number| grow(database, found, number) }
      end

      def grow(database, topic, number)
        id = database.value("INSERT INTO godwit_partitions (topic, number) SELECT topic, ? FROM " \
          "godwit_partitions WHERE id = ? RETURNING id", number, topic.ids.first)
        database.rows("INSERT INTO godwit_positions (group_id, partition, watermark) SELECT " \
          "group_id, ?, 0 FROM godwit_positions WHERE partition = ?", id, topic.ids.first)
      end
    end
  end
end
