-- Gives the server the files of its write-ahead log, as one that has run for a while has them: it takes those that it
-- does not need any more. A new server makes one each second of a full load instead, and all commits wait.
DO $$ BEGIN
    FOR file IN 1..64 LOOP
        PERFORM pg_logical_emit_message(false, 'bench', 'begins the file');
        PERFORM pg_switch_wal();
    END LOOP;
END $$;
