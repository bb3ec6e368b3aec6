/* The functions of librdkafka that Ruby calls, as rdkafka.h declares them; see functions.rb. */

const char *rd_kafka_err2str(rd_kafka_resp_err_t);
const char *rd_kafka_err2name(rd_kafka_resp_err_t);
rd_kafka_resp_err_t rd_kafka_error_code(const rd_kafka_error_t *);
const char *rd_kafka_error_string(const rd_kafka_error_t *);
int rd_kafka_error_is_fatal(const rd_kafka_error_t *);
int rd_kafka_error_is_retriable(const rd_kafka_error_t *);
int rd_kafka_error_txn_requires_abort(const rd_kafka_error_t *);
void rd_kafka_error_destroy(rd_kafka_error_t *);
rd_kafka_resp_err_t rd_kafka_fatal_error(rd_kafka_t *, char *, size_t);
rd_kafka_conf_t *rd_kafka_conf_new(void);
void rd_kafka_conf_destroy(rd_kafka_conf_t *);
rd_kafka_conf_res_t rd_kafka_conf_set(rd_kafka_conf_t *, const char *, const char *, char *,
    size_t);
void rd_kafka_conf_set_events(rd_kafka_conf_t *, int);
void rd_kafka_conf_set_log_cb(rd_kafka_conf_t *,
    void (*)(const rd_kafka_t *, int, const char *, const char *));
rd_kafka_t *rd_kafka_new(rd_kafka_type_t, rd_kafka_conf_t *, char *, size_t);
void rd_kafka_destroy_flags(rd_kafka_t *, int);
void *rd_kafka_mem_malloc(rd_kafka_t *, size_t);
rd_kafka_topic_t *rd_kafka_topic_new(rd_kafka_t *, const char *, rd_kafka_topic_conf_t *);
void rd_kafka_topic_destroy(rd_kafka_topic_t *);
int rd_kafka_consume_start_queue(rd_kafka_topic_t *, int32_t, int64_t, rd_kafka_queue_t *);
int rd_kafka_consume_stop(rd_kafka_topic_t *, int32_t);
rd_kafka_resp_err_t rd_kafka_last_error(void);
rd_kafka_resp_err_t rd_kafka_metadata(rd_kafka_t *, int, rd_kafka_topic_t *,
    const struct rd_kafka_metadata **, int);
void rd_kafka_metadata_destroy(const struct rd_kafka_metadata *);
rd_kafka_topic_partition_list_t *rd_kafka_topic_partition_list_new(int);
void rd_kafka_topic_partition_list_destroy(rd_kafka_topic_partition_list_t *);
rd_kafka_topic_partition_t *rd_kafka_topic_partition_list_add(
    rd_kafka_topic_partition_list_t *, const char *, int32_t);
rd_kafka_queue_t *rd_kafka_queue_new(rd_kafka_t *);
void rd_kafka_queue_destroy(rd_kafka_queue_t *);
rd_kafka_queue_t *rd_kafka_queue_get_main(rd_kafka_t *);
rd_kafka_queue_t *rd_kafka_queue_get_consumer(rd_kafka_t *);
rd_kafka_queue_t *rd_kafka_queue_get_partition(rd_kafka_t *, const char *, int32_t);
void rd_kafka_queue_forward(rd_kafka_queue_t *, rd_kafka_queue_t *);
void rd_kafka_queue_io_event_enable(rd_kafka_queue_t *, int, const void *, size_t);
rd_kafka_event_t *rd_kafka_queue_poll(rd_kafka_queue_t *, int);
rd_kafka_event_type_t rd_kafka_event_type(const rd_kafka_event_t *);
rd_kafka_resp_err_t rd_kafka_event_error(rd_kafka_event_t *);
const char *rd_kafka_event_error_string(rd_kafka_event_t *);
int rd_kafka_event_error_is_fatal(rd_kafka_event_t *);
rd_kafka_topic_partition_list_t *rd_kafka_event_topic_partition_list(rd_kafka_event_t *);
void rd_kafka_event_destroy(rd_kafka_event_t *);
rd_kafka_resp_err_t rd_kafka_poll_set_consumer(rd_kafka_t *);
rd_kafka_resp_err_t rd_kafka_subscribe(rd_kafka_t *, const rd_kafka_topic_partition_list_t *);
rd_kafka_error_t *rd_kafka_incremental_assign(rd_kafka_t *,
    const rd_kafka_topic_partition_list_t *);
rd_kafka_error_t *rd_kafka_incremental_unassign(rd_kafka_t *,
    const rd_kafka_topic_partition_list_t *);
int rd_kafka_assignment_lost(rd_kafka_t *);
rd_kafka_resp_err_t rd_kafka_position(rd_kafka_t *, rd_kafka_topic_partition_list_t *);
rd_kafka_error_t *rd_kafka_seek_partitions(rd_kafka_t *, rd_kafka_topic_partition_list_t *, int);
rd_kafka_resp_err_t rd_kafka_commit_queue(rd_kafka_t *, const rd_kafka_topic_partition_list_t *,
    rd_kafka_queue_t *,
    void (*)(rd_kafka_t *, rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t *, void *),
    void *);
rd_kafka_error_t *rd_kafka_consumer_close_queue(rd_kafka_t *, rd_kafka_queue_t *);
int rd_kafka_consumer_closed(rd_kafka_t *);
rd_kafka_consumer_group_metadata_t *rd_kafka_consumer_group_metadata(rd_kafka_t *);
void rd_kafka_consumer_group_metadata_destroy(rd_kafka_consumer_group_metadata_t *);
rd_kafka_error_t *rd_kafka_init_transactions(rd_kafka_t *, int);
rd_kafka_error_t *rd_kafka_begin_transaction(rd_kafka_t *);
rd_kafka_error_t *rd_kafka_send_offsets_to_transaction(rd_kafka_t *,
    const rd_kafka_topic_partition_list_t *, const rd_kafka_consumer_group_metadata_t *, int);
rd_kafka_error_t *rd_kafka_commit_transaction(rd_kafka_t *, int);
rd_kafka_error_t *rd_kafka_abort_transaction(rd_kafka_t *, int);
rd_kafka_AdminOptions_t *rd_kafka_AdminOptions_new(rd_kafka_t *, rd_kafka_admin_op_t);
void rd_kafka_AdminOptions_destroy(rd_kafka_AdminOptions_t *);
rd_kafka_resp_err_t rd_kafka_AdminOptions_set_request_timeout(rd_kafka_AdminOptions_t *, int,
    char *, size_t);
rd_kafka_resp_err_t rd_kafka_AdminOptions_set_broker(rd_kafka_AdminOptions_t *, int32_t, char *,
    size_t);
rd_kafka_error_t *rd_kafka_AdminOptions_set_isolation_level(rd_kafka_AdminOptions_t *,
    rd_kafka_IsolationLevel_t);
rd_kafka_error_t *rd_kafka_AdminOptions_set_require_stable_offsets(rd_kafka_AdminOptions_t *,
    int);
rd_kafka_resp_err_t rd_kafka_topic_result_error(const rd_kafka_topic_result_t *);
const char *rd_kafka_topic_result_error_string(const rd_kafka_topic_result_t *);
rd_kafka_NewTopic_t *rd_kafka_NewTopic_new(const char *, int, int, char *, size_t);
void rd_kafka_NewTopic_destroy(rd_kafka_NewTopic_t *);
rd_kafka_resp_err_t rd_kafka_NewTopic_set_config(rd_kafka_NewTopic_t *, const char *,
    const char *);
void rd_kafka_CreateTopics(rd_kafka_t *, rd_kafka_NewTopic_t **, size_t,
    const rd_kafka_AdminOptions_t *, rd_kafka_queue_t *);
const rd_kafka_CreateTopics_result_t *rd_kafka_event_CreateTopics_result(rd_kafka_event_t *);
const rd_kafka_topic_result_t **rd_kafka_CreateTopics_result_topics(
    const rd_kafka_CreateTopics_result_t *, size_t *);
rd_kafka_NewPartitions_t *rd_kafka_NewPartitions_new(const char *, size_t, char *, size_t);
void rd_kafka_NewPartitions_destroy(rd_kafka_NewPartitions_t *);
void rd_kafka_CreatePartitions(rd_kafka_t *, rd_kafka_NewPartitions_t **, size_t,
    const rd_kafka_AdminOptions_t *, rd_kafka_queue_t *);
const rd_kafka_CreatePartitions_result_t *rd_kafka_event_CreatePartitions_result(
    rd_kafka_event_t *);
const rd_kafka_topic_result_t **rd_kafka_CreatePartitions_result_topics(
    const rd_kafka_CreatePartitions_result_t *, size_t *);
rd_kafka_ConfigResource_t *rd_kafka_ConfigResource_new(rd_kafka_ResourceType_t, const char *);
void rd_kafka_ConfigResource_destroy(rd_kafka_ConfigResource_t *);
rd_kafka_resp_err_t rd_kafka_ConfigResource_error(const rd_kafka_ConfigResource_t *);
const char *rd_kafka_ConfigResource_error_string(const rd_kafka_ConfigResource_t *);
const char *rd_kafka_ConfigResource_name(const rd_kafka_ConfigResource_t *);
const rd_kafka_ConfigEntry_t **rd_kafka_ConfigResource_configs(
    const rd_kafka_ConfigResource_t *, size_t *);
const char *rd_kafka_ConfigEntry_name(const rd_kafka_ConfigEntry_t *);
const char *rd_kafka_ConfigEntry_value(const rd_kafka_ConfigEntry_t *);
void rd_kafka_DescribeConfigs(rd_kafka_t *, rd_kafka_ConfigResource_t **, size_t,
    const rd_kafka_AdminOptions_t *, rd_kafka_queue_t *);
const rd_kafka_DescribeConfigs_result_t *rd_kafka_event_DescribeConfigs_result(
    rd_kafka_event_t *);
const rd_kafka_ConfigResource_t **rd_kafka_DescribeConfigs_result_resources(
    const rd_kafka_DescribeConfigs_result_t *, size_t *);
rd_kafka_error_t *rd_kafka_ConfigResource_add_incremental_config(rd_kafka_ConfigResource_t *,
    const char *, rd_kafka_AlterConfigOpType_t, const char *);
void rd_kafka_IncrementalAlterConfigs(rd_kafka_t *, rd_kafka_ConfigResource_t **, size_t,
    const rd_kafka_AdminOptions_t *, rd_kafka_queue_t *);
const rd_kafka_IncrementalAlterConfigs_result_t *rd_kafka_event_IncrementalAlterConfigs_result(
    rd_kafka_event_t *);
const rd_kafka_ConfigResource_t **rd_kafka_IncrementalAlterConfigs_result_resources(
    const rd_kafka_IncrementalAlterConfigs_result_t *, size_t *);
void rd_kafka_ListOffsets(rd_kafka_t *, rd_kafka_topic_partition_list_t *,
    const rd_kafka_AdminOptions_t *, rd_kafka_queue_t *);
const rd_kafka_ListOffsets_result_t *rd_kafka_event_ListOffsets_result(rd_kafka_event_t *);
const rd_kafka_ListOffsetsResultInfo_t **rd_kafka_ListOffsets_result_infos(
    const rd_kafka_ListOffsets_result_t *, size_t *);
const rd_kafka_topic_partition_t *rd_kafka_ListOffsetsResultInfo_topic_partition(
    const rd_kafka_ListOffsetsResultInfo_t *);
void rd_kafka_ListConsumerGroups(rd_kafka_t *, const rd_kafka_AdminOptions_t *,
    rd_kafka_queue_t *);
const rd_kafka_ListConsumerGroups_result_t *rd_kafka_event_ListConsumerGroups_result(
    rd_kafka_event_t *);
const rd_kafka_ConsumerGroupListing_t **rd_kafka_ListConsumerGroups_result_valid(
    const rd_kafka_ListConsumerGroups_result_t *, size_t *);
const char *rd_kafka_ConsumerGroupListing_group_id(const rd_kafka_ConsumerGroupListing_t *);
void rd_kafka_DescribeConsumerGroups(rd_kafka_t *, const char **, size_t,
    const rd_kafka_AdminOptions_t *, rd_kafka_queue_t *);
const rd_kafka_DescribeConsumerGroups_result_t *rd_kafka_event_DescribeConsumerGroups_result(
    rd_kafka_event_t *);
const rd_kafka_ConsumerGroupDescription_t **rd_kafka_DescribeConsumerGroups_result_groups(
    const rd_kafka_DescribeConsumerGroups_result_t *, size_t *);
const char *rd_kafka_ConsumerGroupDescription_group_id(
    const rd_kafka_ConsumerGroupDescription_t *);
const rd_kafka_error_t *rd_kafka_ConsumerGroupDescription_error(
    const rd_kafka_ConsumerGroupDescription_t *);
size_t rd_kafka_ConsumerGroupDescription_member_count(
    const rd_kafka_ConsumerGroupDescription_t *);
const rd_kafka_MemberDescription_t *rd_kafka_ConsumerGroupDescription_member(
    const rd_kafka_ConsumerGroupDescription_t *, size_t);
const char *rd_kafka_MemberDescription_client_id(const rd_kafka_MemberDescription_t *);
const char *rd_kafka_MemberDescription_consumer_id(const rd_kafka_MemberDescription_t *);
const char *rd_kafka_MemberDescription_host(const rd_kafka_MemberDescription_t *);
const rd_kafka_MemberAssignment_t *rd_kafka_MemberDescription_assignment(
    const rd_kafka_MemberDescription_t *);
const rd_kafka_topic_partition_list_t *rd_kafka_MemberAssignment_partitions(
    const rd_kafka_MemberAssignment_t *);
rd_kafka_ListConsumerGroupOffsets_t *rd_kafka_ListConsumerGroupOffsets_new(const char *,
    const rd_kafka_topic_partition_list_t *);
void rd_kafka_ListConsumerGroupOffsets_destroy(rd_kafka_ListConsumerGroupOffsets_t *);
void rd_kafka_ListConsumerGroupOffsets(rd_kafka_t *, rd_kafka_ListConsumerGroupOffsets_t **,
    size_t, const rd_kafka_AdminOptions_t *, rd_kafka_queue_t *);
const rd_kafka_ListConsumerGroupOffsets_result_t *rd_kafka_event_ListConsumerGroupOffsets_result(
    rd_kafka_event_t *);
const rd_kafka_group_result_t **rd_kafka_ListConsumerGroupOffsets_result_groups(
    const rd_kafka_ListConsumerGroupOffsets_result_t *, size_t *);
rd_kafka_AlterConsumerGroupOffsets_t *rd_kafka_AlterConsumerGroupOffsets_new(const char *,
    const rd_kafka_topic_partition_list_t *);
void rd_kafka_AlterConsumerGroupOffsets_destroy(rd_kafka_AlterConsumerGroupOffsets_t *);
void rd_kafka_AlterConsumerGroupOffsets(rd_kafka_t *, rd_kafka_AlterConsumerGroupOffsets_t **,
    size_t, const rd_kafka_AdminOptions_t *, rd_kafka_queue_t *);
const rd_kafka_AlterConsumerGroupOffsets_result_t *rd_kafka_event_AlterConsumerGroupOffsets_result(
    rd_kafka_event_t *);
const rd_kafka_group_result_t **rd_kafka_AlterConsumerGroupOffsets_result_groups(
    const rd_kafka_AlterConsumerGroupOffsets_result_t *, size_t *);
const rd_kafka_error_t *rd_kafka_group_result_error(const rd_kafka_group_result_t *);
const rd_kafka_topic_partition_list_t *rd_kafka_group_result_partitions(
    const rd_kafka_group_result_t *);
