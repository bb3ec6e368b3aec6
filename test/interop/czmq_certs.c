/* CZMQ's zcert and zcertstore, for auth_test.rb:
 *   czmq_certs save PATH [NAME VALUE]...   a new certificate; prints its keys
 *   czmq_certs load PATH                   prints the keys, then NAME=VALUE lines
 *   czmq_certs lookup DIR KEY              prints NAME=VALUE lines; status 1: not there */
#include <czmq.h>

static void print_metadata (zcert_t *cert)
{
    zlist_t *names = zcert_meta_keys (cert);
    for (char *name = zlist_first (names); name; name = zlist_next (names))
        printf ("%s=%s\n", name, zcert_meta (cert, name));
    zlist_destroy (&names);
}

static int save (const char *path, char **words, int count)
{
    zcert_t *cert = zcert_new ();
    for (int i = 0; i + 1 < count; i += 2)
        zcert_set_meta (cert, words[i], "%s", words[i + 1]);
    int rc = zcert_save (cert, path);
    printf ("%s\n%s\n", zcert_public_txt (cert), zcert_secret_txt (cert));
    zcert_destroy (&cert);
    return rc;
}

static int load (const char *path)
{
    zcert_t *cert = zcert_load (path);
    if (!cert)
        return 1;
    printf ("%s\n%s\n", zcert_public_txt (cert), zcert_secret_txt (cert));
    print_metadata (cert);
    zcert_destroy (&cert);
    return 0;
}

static int lookup (const char *dir, const char *key)
{
    zcertstore_t *store = zcertstore_new (dir);
    zcert_t *cert = zcertstore_lookup (store, key); /* the store's */
    if (cert)
        print_metadata (cert);
    zcertstore_destroy (&store);
    return cert ? 0 : 1;
}

int main (int count, char **words)
{
    if (count >= 3 && streq (words[1], "save"))
        return save (words[2], words + 3, count - 3);
    if (count == 3 && streq (words[1], "load"))
        return load (words[2]);
    if (count == 4 && streq (words[1], "lookup"))
        return lookup (words[2], words[3]);
    return 2;
}
