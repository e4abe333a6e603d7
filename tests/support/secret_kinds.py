"""Kinds of texts that hold a secret, and secrets of several styles to plant in them.

``{}`` is the place of the secret. :func:`planted_texts` combines each template with each style and with texts around it; the result is
the same in each run.
"""

from __future__ import annotations

import base64
import random
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.bundled import MAPPINGS, load_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Keys of configurations whose value is a secret, as JSON members and as lines ``key=value``.
KEY_NAMES = [
    "DB_PASSWORD", "POSTGRES_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "MYSQL_ROOT_PASSWORD", "SNOWFLAKE_PASSWORD", "SNOWSQL_PWD", "ORACLE_PWD",
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_CLIENT_SECRET", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN", "ARM_CLIENT_SECRET",
    "DATABRICKS_TOKEN", "DBT_ENV_SECRET_GIT_CREDENTIAL", "DBT_CLOUD_API_KEY", "AIRFLOW__CORE__FERNET_KEY", "AIRFLOW__WEBSERVER__SECRET_KEY",
    "AIRFLOW__SMTP__SMTP_PASSWORD", "GITHUB_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN", "NPM_TOKEN", "VAULT_TOKEN", "CONSUL_HTTP_TOKEN",
    "SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET", "SENDGRID_API_KEY", "STRIPE_SECRET_KEY", "TWILIO_AUTH_TOKEN", "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY", "DATADOG_API_KEY", "DD_APP_KEY", "NEW_RELIC_LICENSE_KEY", "REDIS_PASSWORD", "REDISCLI_AUTH", "MONGO_INITDB_ROOT_PASSWORD",
    "RABBITMQ_DEFAULT_PASS", "ELASTIC_PASSWORD", "KAFKA_SASL_PASSWORD", "SSH_PRIVATE_KEY_PASSPHRASE", "KEYSTORE_PASSWORD", "JWT_SECRET",
    "SESSION_SECRET", "ENCRYPTION_KEY", "MASTER_KEY", "LDAP_BIND_PASSWORD", "SMTP_PASS", "FTP_PASSWORD", "SFTP_PASSPHRASE", "api_token",
    "sasl.jaas.config", "ssl.keystore.password", "ssl.key.password", "ssl.truststore.password", "ssl.keystore.key",
    "basic.auth.user.info", "schema.registry.basic.auth.user.info", "confluent.cloud.api.secret", "sasl.oauthbearer.client.credentials.client.secret",
    "value.converter.basic.auth.user.info", "connection.password", "database.password", "aws.secret.access.key", "elastic.password",
    "spark.hadoop.fs.s3a.secret.key", "spark.hadoop.fs.s3a.session.token", "spark.hadoop.fs.s3a.bucket.raw.secret.key",
    "fs.azure.account.key.shop.dfs.core.windows.net", "spark.hadoop.fs.azure.account.key.shop.blob.core.windows.net",
    "fs.azure.account.oauth2.client.secret.shop.dfs.core.windows.net", "spark.hadoop.fs.azure.sas.raw.shop.blob.core.windows.net",
    "spark.hadoop.fs.gs.auth.service.account.private.key", "spark.cassandra.auth.password", "spark.es.net.http.auth.pass",
    "spark.ssl.keyPassword", "spark.ssl.trustStorePassword", "spark.snowflake.sfPassword", "sfPassword", "pem_private_key",
    "spark.sql.catalog.lake.credential", "spark.sql.catalog.lake.token", "spark.sql.catalog.lake.s3.secret-access-key",
    "spark.sql.catalog.lake.jdbc.password", "spark.neo4j.authentication.basic.password", "spark.redis.auth", "spark.authenticate.secret",
    "spark.kubernetes.authenticate.submission.oauthToken", "javax.jdo.option.ConnectionPassword", "hive.server2.keystore.password",
    "hadoop.security.credential.password", "hive.s3.aws-secret-key", "s3.secret-access-key", "es.net.ssl.keystore.pass",
    "dfs.adls.oauth2.credential", "mapreduce.job.hdfs.password", "quarkus.datasource.password", "spring.datasource.password",
    "flink.s3.secret-key", "state.backend.rocksdb.password", "trino.password", "connector.client-secret", "oauth.client-secret",
    "bigquery.credentials", "client_secret", "privateKey", "secretKey", "accessToken", "refreshToken", "idToken", "apiSecret", "clientSecret",
    "authToken", "bearerToken", "x-api-key", "webhookSecret", "signingSecret", "encryptionKey", "sharedAccessKey", "accountKey", "storageKey",
    "dbPassword", "userPassword", "rootPassword", "adminPassword", "proxyPassword", "keyPassphrase", "sasToken", "connectionString",
]  # fmt: skip

TEXTS_OF_KEYS = {
    "json": '{"retries": 3, "%s": "{}", "region": "eu"}', "python": "{'retries': 3, '%s': '{}', 'region': 'eu'}", "line": "%s={}", "yaml": '%s: "{}"',
    "spaced": "%s = {}", "environment": "export %s='{}'", "name and value": '{"name": "%s", "value": "{}"}',
    "YAML pair": "env:\n  - name: %s\n    value: {}\n  - name: REGION\n    value: eu", "key and value": "[{'key': '%s', 'value': '{}'}]",
    "XML property": "<property>\n  <name>%s</name>\n  <value>{}</value>\n</property>", "attributes": '<add key="%s" value="{}"/>',
    "option": '.option("%s", "{}").load()', "config": "spark.conf.set('%s', '{}')", "conf flag": "spark-submit --conf %s={} job.py",
    "SQL option": "CREATE TABLE t USING jdbc OPTIONS ('%s' = '{}')", "Docker": "docker run -e %s={} image", "escaped": '{\\"a\\": 1, \\"%s\\": \\"{}\\"}',
    "environ": 'os.environ["%s"] = "{}"',
}  # fmt: skip

COMMANDS = [
    "curl -u ann:{} https://h/x", "curl --user ann:{} https://h/x", "curl -s -uann:{} https://h/x", "curl --user 'ann:{}' -X POST https://h",
    "curl --proxy-user ann:{} https://h", "curl -sSu ann:{} https://h", "curl --user=ann:{} https://h", "curl -U ann:{} -x proxy https://h",
    "curl -H 'X-Api-Key: {}' https://h", 'curl -H "Authorization: Bearer {}" https://h', "curl --oauth2-bearer {} https://h",
    "curl -d 'user=ann&password={}' https://h", "curl -d '{\"password\":\"{}\"}' https://h", "curl --cookie 'session={}' https://h", "curl -b 'sid={}' https://h",
    "mysql -uroot -p{} shop", "mysql -u root -p'{}' shop", "mysqldump -p{} shop", "mysqladmin -h db -u root -p{} status", "mysql --password={} shop",
    "mariadb -u root -p{} -e 'select 1'", "mysqlimport -p{} shop t.txt", "/usr/bin/mysql -h db -P 3306 -u etl -p{} < load.sql",
    "sshpass -p {} ssh ann@h", "sshpass -p{} scp a ann@h:", "sshpass -p '{}' rsync -a x y", "docker login -u ann -p {} registry.example.com",
    "docker login --username ann --password {} registry", "podman login -u ann -p {} quay.io", "helm registry login -u ann -p {} h", "az login -u ann -p {}",
    "az login --service-principal -u id -p {} --tenant t", "az storage blob list --account-key {}", "redis-cli -h cache -a {} ping", "redis-cli -a {} --no-auth-warning",
    "PGPASSWORD={} psql -h db -U ann shop", "PGPASSWORD='{}' pg_dump shop", "MYSQL_PWD={} mysql -u root", "env PGPASSWORD={} psql", "export SNOWSQL_PWD={}; snowsql -a acme",
    "snowsql -a acme -u ann -o password={}", "snowsql --private-key-passphrase {}", "aws configure set aws_secret_access_key {}", "aws configure set profile.x.aws_secret_access_key {}",
    "aws configure set aws_session_token {} --datahub-version x", "wget --password={} https://h", "wget --user=ann --password {} https://h", "wget --http-password={} https://h", "wget --header='Authorization: Bearer {}' u",
    "sqlplus scott/{}@db", "sqlplus -s scott/{}@//db:1521/x @load.sql", 'sqlplus scott/"{}"@db', "sqlldr scott/{}@db control=x.ctl", "sqlldr userid=scott/{}@db control=x", "expdp system/{} full=y", "impdp system/{}@db dumpfile=x", "rman target sys/{}@db",
    "sqlcmd -S h -U sa -P {} -Q 'select 1'", "sqlcmd -S h -U sa -P'{}'", "bcp t out x.csv -S h -U sa -P {}", "isql -U sa -P {} -S h", "isql -v DSN ann {}",
    "mongo -u ann -p {} shop", "mongosh 'mongodb://ann:{}@h/x'", "mongodump -u ann -p {} -d shop", "mongosh --username ann --password {}", "mongoimport --uri mongodb://ann:{}@h/x",
    "beeline -u jdbc:hive2://h:10000 -n ann -p {}", "cqlsh h -u ann -p {}", "vsql -U ann -w {} -h h", "nzsql -u ann -pw {} -d x", "ldapsearch -D cn=ann -w {} -b dc=x",
    "ldapmodify -x -D cn=ann -w {}", "smbclient //h/x -U ann%{}", "lftp -u ann,{} sftp://h", "ftp://ann:{}@h/x", "htpasswd -b .htpasswd ann {}", "htpasswd -nb ann {}",
    "openssl enc -aes-256-cbc -k {} -in a", "openssl rsa -passin pass:{} -in a", "openssl pkcs12 -export -passout pass:{}", "openssl enc -pass pass:{} -in x", "openssl aes-256-cbc -K {} -iv 0", "gpg --batch --passphrase {} -d x.gpg",
    "zip -P {} a.zip b", "unzip -P {} a.zip", "7z x -p{} a.7z", "keytool -list -storepass {} -keystore k", "keytool -importkeystore -srcstorepass {} -deststorepass x", "keytool -keypass {} -alias a",
    "kubectl create secret generic db --from-literal=password={}", "kubectl create secret docker-registry r --docker-password={}", "kubectl config set-credentials ann --token={}",
    "vault login {}", "vault login -method=userpass username=ann password={}", "vault kv put secret/db password={}", "export VAULT_TOKEN={}", "consul acl token read -token {}", "consul kv get -http-token {} x",
    "databricks configure --token {}", "heroku config:set API_KEY={}", "oc login --token={} https://h", "oc login -u ann -p {} https://h", "cf login -u ann -p {}", "argocd login h --username admin --password {}",
    "airflow users create -u ann -p {} -r Admin", "airflow connections add x --conn-password {}", "airflow connections add x --conn-uri postgres://ann:{}@db/x", "airflow variables set api_key {}", "airflow variables set db_password '{}'",
    "sqoop import --connect jdbc:mysql://db/x --username ann --password {} --table t", "spark-submit --conf spark.x.password={} job.py", "spark-submit job.py --db-password {}", "java -Ddb.password={} -jar a.jar", "java -jar a.jar --password={}",
    "dbt run --vars '{\"api_key\": \"{}\"}'", "dbt run --vars 'db_password: {}'", "net user ann {} /add", "plink -pw {} ann@h", "pscp -pw {} a ann@h:b", "wmic /user:ann /password:{} os get",
    "rclone obscure {}", "tabcmd login -s h -u ann -p {}", "svn co --username ann --password {} u", "clickhouse-client -u ann --password {}", "influx -username ann -password {}",
    "mount -t cifs -o username=ann,password={} //h/s /m", "git clone https://ann:{}@github.com/acme/x.git", "git -c http.extraheader='Authorization: Basic {}' fetch", "pip install --index-url https://ann:{}@pypi.example.com/simple x", "twine upload -u ann -p {} dist/x", "npm config set //registry.npmjs.org/:_authToken {}", "npm config set //registry.npmjs.org/:_authToken={}",
    "bteq .logon host/ann,{}", ".LOGON tdprod/ann,{};", "db2 connect to shop user ann using {}", "db2 \"connect to shop user ann using '{}'\"", "nmcli dev wifi connect x password {}", "skopeo copy --src-creds ann:{} a b", "skopeo login -u ann -p {} h", "http -a ann:{} GET https://h", "http --auth ann:{} h", "rsync --password={} x", "ansible-playbook -e 'db_password={}' x.yml", "ansible-playbook --extra-vars 'ansible_password={}'", "terraform apply -var 'db_password={}'", "terraform apply -var=db_password={}", "psql 'host=db user=ann password={} dbname=x'", "psql postgresql://ann:{}@db/x", "psql \"dbname=x password='{}'\"", "impala-shell --ldap_password_cmd='echo -n {}'", "trino --user ann --password={}",
    "['--password', '{}']", '["--user", "ann", "--password", "{}"]', "['mysql', '-uroot', '-p{}', 'shop']", '["curl", "-u", "ann:{}", "https://h"]', "['sqlplus', '-s', 'scott/{}@db']", "args: [--token, {}]", 'args: ["--api-key={}"]', "args:\n- --db-password\n- {}\n- --rows", "['sshpass', '-p', '{}', 'ssh', 'h']", "subprocess.run(['docker', 'login', '-u', 'ann', '-p', '{}'])", 'CMD ["app", "--secret", "{}"]', "Command '['mysqldump', '-p{}', 'shop']' returned non-zero exit status 2.", 'cmd=["redis-cli","-a","{}","ping"]',
]  # fmt: skip

SQL = [
    "SET PASSWORD FOR 'ann'@'%' = '{}'", "SET PASSWORD FOR ann = PASSWORD('{}')", "SET PASSWORD = '{}'", "SET PASSWORD FOR a='{}'", "DECLARE @password varchar(20) = '{}'", "DECLARE @pwd NVARCHAR(64); SET @pwd = N'{}'", "DECLARE @api_key varchar(max)='{}'; SELECT 1", "DECLARE v_password VARCHAR2(30) := '{}'",
    "EXECUTE IMMEDIATE 'CREATE USER u IDENTIFIED BY ''{}'''", "EXECUTE IMMEDIATE 'ALTER USER u IDENTIFIED BY {}'", "EXECUTE IMMEDIATE 'ALTER ROLE u PASSWORD ''{}'''", "BEGIN EXECUTE IMMEDIATE 'ALTER USER u SET PASSWORD = ''{}'''; END", "EXEC('CREATE LOGIN u WITH PASSWORD = ''{}''')", "EXEC sp_executesql N'ALTER LOGIN u WITH PASSWORD = ''{}'''",
    "CREATE USER u IDENTIFIED WITH mysql_native_password AS '{}'", "CREATE USER u IDENTIFIED WITH p AS '{}'", "CREATE USER u IDENTIFIED WITH caching_sha2_password BY '{}'", "CREATE USER u IDENTIFIED BY '{}'", "CREATE USER u IDENTIFIED BY {}", 'CREATE USER u IDENTIFIED BY "{}"', "ALTER USER u IDENTIFIED BY {} ACCOUNT UNLOCK", "GRANT ALL ON *.* TO u IDENTIFIED BY '{}'", "GRANT ALL ON x.* TO 'u'@'%' IDENTIFIED BY PASSWORD '{}'", "CREATE USER u IDENTIFIED WITH sha256_hash BY '{}'", "CREATE USER IF NOT EXISTS u IDENTIFIED BY '{}'",
    "CREATE USER u PASSWORD '{}'", "CREATE USER u WITH PASSWORD '{}'", "CREATE ROLE u LOGIN ENCRYPTED PASSWORD '{}'", "ALTER ROLE u WITH PASSWORD E'{}'", "ALTER USER u PASSWORD '{}' VALID UNTIL '2025-01-01'", "ALTER USER u SET PASSWORD = '{}'", "CREATE USER u PASSWORD = '{}' DEFAULT_ROLE = r MUST_CHANGE_PASSWORD = true", "CREATE LOGIN u WITH PASSWORD = '{}', CHECK_POLICY = OFF", "CREATE LOGIN u WITH PASSWORD = 0x{} HASHED", "ALTER LOGIN sa WITH PASSWORD = N'{}' OLD_PASSWORD = 'x'", "ALTER LOGIN sa WITH PASSWORD = 'a1', OLD_PASSWORD = '{}'", "CREATE APPLICATION ROLE r WITH PASSWORD = '{}'",
    "CREATE MASTER KEY ENCRYPTION BY PASSWORD = '{}'", "OPEN MASTER KEY DECRYPTION BY PASSWORD = '{}'", "CREATE SYMMETRIC KEY k WITH KEY_SOURCE = '{}', ALGORITHM = AES_256 ENCRYPTION BY CERTIFICATE c", "CREATE SYMMETRIC KEY k WITH KEY_SOURCE='{}'", "BACKUP MASTER KEY TO FILE = 'x' ENCRYPTION BY PASSWORD = '{}'", "CREATE CREDENTIAL c WITH IDENTITY = 'ann', SECRET = '{}'", "CREATE DATABASE SCOPED CREDENTIAL c WITH IDENTITY = 'SHARED ACCESS SIGNATURE', SECRET = '{}'",
    "PRAGMA key='{}'", "PRAGMA key = \"x'{}'\"", "PRAGMA rekey = '{}'", "PRAGMA hexkey='{}'", "ATTACH DATABASE 'x.db' AS e KEY '{}'", "ATTACH 'x.db' AS e (ENCRYPTION_KEY '{}')", "ALTER INSTANCE ROTATE INNODB MASTER KEY; SET ENCRYPTION KEY '{}'", "CREATE TABLE t (id int) ENCRYPTION KEY '{}'", "ALTER TABLE t SET ENCRYPTION KEY = '{}'",
    "INSERT INTO users(name,password) VALUES('a','{}')", "INSERT INTO users (name, password, age) VALUES ('a', '{}', 5)", "INSERT INTO users (id, api_token) VALUES (1, 'x1y2z3w4'), (2, '{}')", "INSERT INTO app.users (`password`, `name`) VALUES ('{}', 'a')", "INSERT INTO \"users\" (\"name\", \"pwd\") VALUES ('it''s, (me)', '{}')", "REPLACE INTO cfg (k, secret) VALUES ('a', '{}')", "INSERT INTO users(name,password) VALUES('a','b'),('c','d'),('e','{}')", "INSERT INTO u (name, password) SELECT 'ann', '{}'", "INSERT INTO config (name, value) VALUES ('db_password', '{}')", "INSERT INTO users(name,password) VALUES('a', md5('{}'))",
    "UPDATE users SET password = '{}' WHERE id = 5", "UPDATE users SET name='a', api_key='{}' WHERE id=1", "UPDATE users SET password = md5('{}')", "UPDATE users SET password=crypt('{}', gen_salt('bf'))", "UPDATE config SET value = '{}' WHERE name = 'db_password'",
    "SELECT * FROM t WHERE api_key IN ('{}')", "SELECT * FROM t WHERE api_key IN ('x1y2z3w4', '{}')", "SELECT * FROM t WHERE token = '{}'", "SELECT * FROM t WHERE u.password='{}' AND a = 1", "DELETE FROM t WHERE session_token = '{}'", "SELECT * FROM t WHERE password <> '{}'", "SELECT * FROM t WHERE api_key LIKE '{}'", "SELECT '{}' AS password", "SELECT 1 AS a, '{}' AS api_key FROM t", "MERGE INTO u USING (SELECT '{}' AS password) s ON 1=1 WHEN MATCHED THEN UPDATE SET u.p = s.password",
    "SELECT * FROM OPENROWSET('SQLNCLI', 'Server=s;UID=u;PWD={};', 'select 1')", "SELECT * FROM OPENROWSET('MSDASQL', 'h';'sa';'{}', 'select 1')", "SELECT * FROM OPENDATASOURCE('SQLNCLI', 'Data Source=s;User ID=u;Password={}').db.dbo.t", "SELECT * FROM OPENROWSET(BULK 'x', DATA_SOURCE='d', CREDENTIAL='{}')",
    "CREATE SECRET s (TYPE S3, KEY_ID 'A', SECRET '{}')", "CREATE OR REPLACE PERSISTENT SECRET s (TYPE gcs, KEY_ID 'A', SECRET '{}')", "CREATE SECRET s (TYPE postgres, HOST 'h', USER 'u', PASSWORD '{}')", "CREATE SECRET s TYPE = PASSWORD USERNAME = 'u' PASSWORD = '{}'", "CREATE SECRET s TYPE = GENERIC_STRING SECRET_STRING = '{}'", "CREATE SECRET s TYPE = OAUTH2 OAUTH_REFRESH_TOKEN = '{}'", "CREATE SECRET s WITH (backend='meta') AS '{}'", "CREATE SECRET s (TYPE huggingface, TOKEN '{}')", "CREATE SECRET s (TYPE azure, CONNECTION_STRING '{}')", "CREATE SECRET s AS '{}'",
    "COPY INTO t FROM 's3://b' CREDENTIALS=(AWS_KEY_ID='A' AWS_SECRET_KEY='{}')", "COPY INTO t FROM 's3://b' CREDENTIALS=(AWS_KEY_ID='A' AWS_SECRET_KEY='a1b2' AWS_TOKEN='{}')", "COPY INTO t FROM 'azure://a' CREDENTIALS=(AZURE_SAS_TOKEN='{}')", "COPY t FROM 's3://b' ACCESS_KEY_ID 'A' SECRET_ACCESS_KEY '{}'", "COPY t FROM 's3://b' CREDENTIALS 'aws_access_key_id=A;aws_secret_access_key={}'", "COPY t FROM 's3://b' WITH CREDENTIALS AS 'aws_access_key_id=A;aws_secret_access_key={};token=t1t2t3'", "UNLOAD ('select 1') TO 's3://b' ACCESS_KEY_ID 'A' SECRET_ACCESS_KEY '{}'", "COPY t FROM 's3://b' WITH CREDENTIALS AS 'master_symmetric_key={}' ENCRYPTED", "COPY t FROM 's3://b' MASTER_SYMMETRIC_KEY='{}' ENCRYPTED", "UNLOAD ('select 1') TO 's3://b' MASTER_SYMMETRIC_KEY '{}' ENCRYPTED", "CREATE STAGE s URL='s3://b' CREDENTIALS=(AWS_KEY_ID='A' AWS_SECRET_KEY='{}') ENCRYPTION=(TYPE='AWS_CSE' MASTER_KEY='x')", "CREATE STAGE s URL='s3://b' ENCRYPTION=(TYPE='AWS_CSE' MASTER_KEY = '{}')", "COPY t FROM 's3://b' SESSION_TOKEN '{}'", "COPY INTO t FROM 's3://b' WITH (CREDENTIAL (AWS_ACCESS_KEY = 'A', AWS_SECRET_KEY = '{}'))",
    "SELECT * FROM dblink('host=h user=u password={}', 'select 1')", "SELECT dblink_connect('c', 'dbname=x password={}')", "CREATE SUBSCRIPTION s CONNECTION 'host=h user=u password={}' PUBLICATION p", "CREATE USER MAPPING FOR u SERVER s OPTIONS (user 'a', password '{}')", "ALTER USER MAPPING FOR u SERVER s OPTIONS (SET password '{}')", "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD '{}', HOST 'h')", "CREATE DATABASE LINK l CONNECT TO u IDENTIFIED BY \"{}\" USING 'x'", "CHANGE MASTER TO MASTER_HOST='h', MASTER_USER='u', MASTER_PASSWORD='{}'", "CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD='{}'", "START SLAVE USER='u' PASSWORD='{}'", "CREATE CONNECTION c TYPE MYSQL OPTIONS (host 'h', user 'u', password '{}')", "CREATE CATALOG c PROPERTIES ('type'='jdbc', 'password'='{}')", "CREATE EXTERNAL TABLE t (a int) STORED BY 'x' TBLPROPERTIES ('hive.sql.dbcp.password'='{}')", "CREATE TABLE t (a int) WITH ('connector'='jdbc','password'='{}')", "CREATE TABLE t (a INT) ENGINE = MySQL('h:3306', 'd', 't', 'u', '{}')", "CREATE TABLE t ENGINE = S3('https://b/x', 'AK', '{}', 'CSV')", "CREATE TABLE t ENGINE=FEDERATED CONNECTION='mysql://u:{}@h:3306/d/t'", "CREATE DICTIONARY d (id UInt64) PRIMARY KEY id SOURCE(MYSQL(PORT 3306 USER 'u' PASSWORD '{}'))", "CREATE NAMED COLLECTION n AS access_key_id='A', secret_access_key='{}'", "CREATE ROUTINE LOAD l ON t FROM KAFKA ('property.sasl.password' = '{}')", "CREATE REPOSITORY r WITH S3 ON LOCATION 's3://b' PROPERTIES ('AWS_SECRET_KEY' = '{}')", "CREATE API INTEGRATION i API_KEY = '{}' ENABLED = true", "CREATE NOTIFICATION INTEGRATION i OAUTH_CLIENT_SECRET = '{}'", "CREATE SECURITY INTEGRATION i TYPE=OAUTH OAUTH_CLIENT_SECRET='{}'", "ALTER USER u SET RSA_PUBLIC_KEY='x' PASSWORD='{}'", "CREATE FOREIGN TABLE t (a int) SERVER s OPTIONS (password '{}')", "ATTACH 'dbname=x password={}' AS p (TYPE postgres)", "ATTACH 'mysql://u:{}@h/d' AS m", "IMPORT FROM JDBC AT 'jdbc:x' USER 'u' IDENTIFIED BY '{}' TABLE t",
    "SELECT pgp_sym_encrypt('x', '{}')", "SELECT pgp_sym_decrypt(c, '{}') FROM t", "SELECT aes_encrypt(c, '{}') FROM t", "SELECT AES_DECRYPT(UNHEX(c), '{}') FROM t", "SELECT encrypt('aes-256-gcm', c, '{}')", "SELECT hmac(c, '{}', 'sha256') FROM t", "SELECT ENCRYPTBYPASSPHRASE('{}', c) FROM t", "SELECT PASSWORD('{}')", "SELECT * FROM mysql('h:3306', 'd', 't', 'u', '{}')", "SELECT * FROM s3('https://b/x.csv', 'AKID', '{}', 'CSV')", "SELECT * FROM remote('h', 'd', 't', 'u', '{}')", "SELECT crypt('{}', gen_salt('bf'))", "SELECT ENCRYPT(c, '{}')", "SELECT map('password', '{}')", "SELECT from_options(map('user', 'a', 'password', '{}'))", "CALL add_user('ann', password => '{}')", "CALL add_user(p_password => '{}')", "EXEC add_user @name='ann', @password='{}'", "EXEC sp_addlogin 'ann', '{}'", "EXEC sp_addlinkedsrvlogin 'h', 'false', NULL, 'sa', '{}'", "EXEC sp_addlinkedserver @provstr='Server=h;Pwd={}'", "exec sp_password 'old1', '{}'", "SELECT set_config('app.jwt_secret', '{}', false)", "SET app.jwt_secret = '{}'", "SET SESSION my.token = {}", "SET spark.hadoop.fs.s3a.secret.key={}", "SET GLOBAL validate.password = '{}'", "SET hivevar:db_password={}", "SET @password = '{}'", "SET s3_secret_access_key='{}'", "ALTER SYSTEM SET x.password = '{}'", "ALTER DATABASE d SET app.secret TO '{}'", "\\set password '{}'", "-- password: {}\nSELECT 1", "SELECT 1 -- pw={}", "/* db_password={} */ SELECT 1", "ALTER ROLE u PASSWORD $$x{}x$$", "DO $$ BEGIN ALTER ROLE u PASSWORD '{}'; END $$", "CONNECT scott/{}@db", "CONNECT TO x USER u USING '{}'", "CONNECT TO shop USER ann USING {}", "CONN scott/{}@db",
    "spark.sql(\"CREATE USER u IDENTIFIED BY '{}'\")", "Error near: ALTER USER a IDENTIFIED BY '{}'", "mysql -e \"SET PASSWORD FOR a = '{}'\"", "ProgrammingError: (1064) [SQL: ALTER ROLE u PASSWORD '{}']", "org.postgresql.util.PSQLException: syntax error in CREATE ROLE u PASSWORD '{}'", "cursor.execute(\"COPY t FROM 's3://b' CREDENTIALS 'aws_secret_access_key={}'\")", "[SQL: INSERT INTO users (name, password) VALUES ('a', '{}')]", "Running statement: CREATE SECRET s (TYPE S3, SECRET '{}')",
]  # fmt: skip

CODE = [
    '.option("password", "{}")', ".option('password', '{}')", '.set("spark.x.password", "{}")', '.config("spark.hadoop.fs.s3a.secret.key", "{}")', 'os.environ["DB_PASSWORD"] = "{}"', "os.environ['API_TOKEN']='{}'", 'os.environ.setdefault("API_TOKEN", "{}")', 'os.putenv("API_TOKEN", "{}")', 'os.getenv("DB_PASSWORD", "{}")', 'os.environ.get("DB_PASSWORD", "{}")', 'setenv("TOKEN","{}")', 'os.Setenv("TOKEN", "{}")', 'System.setProperty("db.password", "{}")', 'props.put("password", "{}");', 'props.setProperty("sasl.password", "{}");', 'properties.put("ssl.keystore.password", "{}")', 'ENV["DB_PASSWORD"] = "{}"', 'process.env.DB_PASSWORD = "{}"', 'process.env["DB_PASSWORD"] = "{}"',
    'conf.set("fs.azure.account.key.shop.dfs.core.windows.net", "{}")', 'hadoopConf.set("fs.s3a.secret.key", "{}")', 'sc._jsc.hadoopConfiguration().set("fs.s3a.secret.key", "{}")', 'spark.conf.set("spark.sql.catalog.x.token", "{}")', 'Variable.set("api_token", "{}")', 'Variable.get("api_token", default_var="{}")', 'config.set("db", "password", "{}")', 'cfg["db"]["password"] = "{}"', 'request.setRequestHeader("X-Api-Key", "{}")', 'headers.put("Authorization", "{}")', 'req.Header.Set("X-Auth-Token", "{}")', '.header("X-Api-Key", "{}")', 'dict(user="ann", password="{}")', "connect(host='h', user='u', passwd='{}')", "psycopg2.connect(dbname='x', password='{}')", 'snowflake.connector.connect(user="u", password="{}", account="a")', 'Connection(conn_id="x", login="u", password="{}")', "auth=('ann', '{}')", 'requests.get(u, auth=("ann", "{}"))', 'HTTPBasicAuth("ann", "{}")', 'HTTPBasicAuth(username="ann", password="{}")', 'DriverManager.getConnection(url, "ann", "{}")', 'DriverManager.getConnection("jdbc:x", "ann", "{}")', 'new BasicAWSCredentials("AK", "{}")', 'new UsernamePasswordCredentials("ann", "{}")', 'AwsBasicCredentials.create("AK", "{}")', 'ClientSecretCredential("t", "c", "{}")', 'AzureKeyCredential("{}")', 'StorageSharedKeyCredential("acct", "{}")', 'Fernet(b"{}")', "Fernet('{}')", 'hmac.new(b"{}", msg)', 'smtp.login("ann", "{}")', "server.login('ann@x.org', '{}')", 'pymysql.connect("h", "u", "{}", "d")', 'cx_Oracle.connect("scott", "{}", "db")', "oracledb.connect(user='u', password='{}')", 'jwt.encode(p, "{}", algorithm="HS256")', 'jwt.decode(t, "{}")', 'ssh.connect(h, username="u", password="{}")', 'password = "{}"', "self.password = '{}'", 'val password = "{}"', 'String password = "{}";', 'const apiKey = "{}";', 'let token: string = "{}";', 'private static final String SECRET_KEY = "{}";', 'password := "{}"', "$password = '{}';", "'password' => '{}'", ':password => "{}"', 'password: "{}"', "api_key='{}'", 'API_KEY: str = "{}"', 'API_KEY: Final[str] = "{}"', 'password: Optional[str] = "{}"', 'define("DB_PASSWORD", "{}");', 'Map.of("user", "a", "password", "{}")', 'Map("password" -> "{}")', '"password" -> "{}"', 'df.write.jdbc(url, "t", properties={"user": "a", "password": "{}"})', '.options(user="a", password="{}")', '.options(**{"password": "{}"})', 'options("password") = "{}"', "boto3.client('s3', aws_secret_access_key='{}')", 'S3Hook(aws_secret="{}")', 'TOKEN="{}" python x.py', 'f"password={}&user=ann"', "b'password={}'", 'new SecretKeySpec("{}".getBytes(), "AES")', 'setPassword("{}")', "ds.setPassword('{}');", '.withPassword("{}")', '.password("{}")', 'builder.apiKey("{}")', 'setSecretKey("{}")', 'client.setToken("{}")', '.basicAuth("ann", "{}")', 'withCredentials("ann", "{}")', 'MongoCredential.createCredential("a", "d", "{}".toCharArray())', 'PasswordAuthentication("ann", "{}".toCharArray())', 'client.username_pw_set("ann", "{}")', 'redis.Redis(host="h", password="{}")', 'Redis.new(password: "{}")', "http.basic_auth('ann', '{}')", 'dbutils.fs.mount(s, m, extra_configs={"fs.azure.account.key.a.blob.core.windows.net": "{}"})', "if password == '{}':", 'if (token.equals("{}"))', 'assert api_key == "{}"', 'token != "{}"', "password in ['{}']", 'openai.api_key = "{}"', 'stripe.api_key="{}"', "%let password={};", "libname x oracle user=u password='{}' path=p;", "libname x oracle user=u pw={} path=p;", "access_token: {}", "WebClient(token='{}')", "ConvertTo-SecureString '{}' -AsPlainText -Force", 'ConvertTo-SecureString -String "{}" -AsPlainText', "$env:DB_PASSWORD = '{}'", "set DB_PASSWORD={}", "setx DB_PASSWORD {}", 'SET "DB_PASSWORD={}"', 'Get-Credential; $cred.Password = "{}"',
]  # fmt: skip

URLS = [
    "postgres://ann:{}@db:5432/shop", "postgresql+psycopg2://ann:{}@db/shop", "mysql://:{}@db", "redis://default:{}@cache:6379/0", "mongodb+srv://ann:{}@c0.example.net/x", "amqp://ann:{}@mq/vhost", "https://ann:{}@example.com/x.git", "https://x-access-token:{}@github.com/acme/dbt.git", "https://oauth2:{}@gitlab.com/acme/x.git",
    "sftp://ann:{}@h/x", "snowflake://ann:{}@acme/db/s?warehouse=w", "clickhouse://default:{}@ch:9000/d", "trino://ann:{}@h:443/hive", "oracle+cx_oracle://scott:{}@h:1521/?service_name=x", "mssql+pyodbc://sa:{}@h/d?driver=x", "redshift+psycopg2://u:{}@h:5439/dev", "hive://u:{}@h:10000/d", "databricks://token:{}@h:443/d?http_path=x", "smtp://ann:{}@mail:587", "nats://ann:{}@h:4222", "bolt://neo4j:{}@h:7687", "ldap://cn=ann:{}@h", "elasticsearch://u:{}@h:9200", "http://u:{}@proxy:3128",
    "jdbc:postgresql://db:5432/shop?user=ann&password={}", "jdbc:sqlserver://h:1433;user=sa;password={};encrypt=true", "jdbc:oracle:thin:ann/{}@h:1521/x", "jdbc:oracle:thin:ann/{}@//h:1521/x", 'jdbc:oracle:oci:scott/"{}"@db', "jdbc:oracle:oci8:scott/{}@db", 'jdbc:oracle:thin:scott/"{}"@h:1521:x', "jdbc:oracle:kprb:scott/{}@", "jdbc:db2://h:50000/DB:user=a;password={};", "jdbc:teradata://h/USER=a,PASSWORD={},X=1", "jdbc:teradata://h/PASSWORD={}", "jdbc:mysql://ann:{}@h/db?useSSL=true", "jdbc:mysql://h/d?user=u&password={}&useSSL=false", "jdbc:snowflake://a.snowflakecomputing.com/?user=u&password={}", "jdbc:databricks://h:443/d;UID=token;PWD={}", "jdbc:hive2://h:10000/d;user=a;password={}", "jdbc:redshift://h/dev?UID=u&PWD={}", "jdbc:vertica://h/d?user=a&password={}", "jdbc:mariadb://h/d?user=a&password={}", "jdbc:clickhouse://h/d?user=a&password={}", "jdbc:h2:mem:x;USER=sa;PASSWORD={}", "jdbc:sap://h:30015/?user=u&password={}", "jdbc:informix-sqli://h:1/d:INFORMIXSERVER=s;user=u;password={}", "jdbc:bigquery://h;OAuthType=2;OAuthAccessToken={}", "jdbc:bigquery://h;OAuthRefreshToken={};x=1", "jdbc:awsathena://x;User=AK;Password={}", "jdbc:mongodb://u:{}@h/d",
    "ann:{}@tcp(db:3306)/shop", "ann:{}@tcp(db:3306)/shop?parseTime=true", "ann:{}@unix(/tmp/mysql.sock)/d", "ann:{}@/shop?charset=utf8",
    "postgres%3A%2F%2Fann%3A{}%40db%3A5432%2Fshop", "https://acct.blob.core.windows.net/c?sv=2024&sig={}", "https://b.s3.amazonaws.com/k?X-Amz-Signature={}&x=1", "https://b.s3.amazonaws.com/k?X-Amz-Security-Token={}", "https://storage.googleapis.com/b/k?X-Goog-Signature={}", "https://h/p?access_token={}", "https://h/p?user=ann&api_key={}&x=1", "https://h/p?apikey={}", "https://h/p?key=x&token={}", "https://h/oauth#access_token={}&x=1", "https://h/p?client_secret={}", "https://h/p?code=1&secret={}", "https://h/?auth={}", "https://d.cloudfront.net/x?Signature={}&Key-Pair-Id=A",
    "mssql+pyodbc:///?odbc_connect=PWD%3D{}", "mssql+pyodbc:///?odbc_connect=DRIVER%3Dx%3BUID%3Dsa%3BPWD%3D{}", "Driver={x};Server=h;UID=sa;PWD={};", "DRIVER={ODBC Driver 17};SERVER=h;UID=u;PWD={{}}", "Server=h;Database=d;User Id=u;Password={};", "Data Source=h;User ID=u;Password='{}'", "host=h port=5432 user=u password={} dbname=x", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={};EndpointSuffix=core.windows.net", "Endpoint=sb://h/;SharedAccessKeyName=n;SharedAccessKey={}", "BlobEndpoint=https://a/;SharedAccessSignature=sv=2024&sig={}", "AccountEndpoint=https://h:443/;AccountKey={};", "Provider=SQLOLEDB;Data Source=h;User ID=u;Password={}", "amqps://u:{}@h:5671/%2f?heartbeat=10", "https://hooks.slack.com/services/T0AB12CD3/B0AB12CD3/{}", "https://outlook.webhook.office.com/webhookb2/{}/IncomingWebhook/x", "https://discord.com/api/webhooks/123456789/{}", "https://api.telegram.org/bot1234567890:AA{}AbCdEfGhIjKlMn/sendMessage", "extra__snowflake__password={}", "aws://AKIAIOSFODNN7EXAMPLE:{}@/?region_name=eu", "mysql://ann:{}@db/x?charset=utf8#a", "kafka://u:{}@b1:9092,b2:9092", "cockroachdb://u:{}@h:26257/d", "spark://u:{}@h:7077", "presto://u:{}@h:8443/hive", "vertica+vertica_python://u:{}@h/d", "db2+ibm_db://u:{}@h:50000/d", "teradatasql://u:{}@h", "athena+rest://AK:{}@athena.eu-west-1.amazonaws.com/d",
]  # fmt: skip

DOCUMENTS = [
    "<password>{}</password>", "<Password>{}</Password>", "<dbPassword>{}</dbPassword>", "<ns:password>{}</ns:password>", '<password encrypted="false">{}</password>', "<password><![CDATA[{}]]></password>", "<api-key>{}</api-key>", "<token>\n  {}\n</token>", "<property><name>javax.jdo.option.ConnectionPassword</name><value>{}</value></property>", '<property name="password" value="{}"/>', "<property name='hibernate.connection.password'>{}</property>", '<entry key="password">{}</entry>', '<bean password="{}" user="a"/>', '<user name="a" password="{}"/>', '<Resource name="x" username="u" password="{}" url="jdbc:x"/>', '<add name="Default" connectionString="Server=h;Password={};"/>', '<parameter name="api_key"><value>{}</value></parameter>', "&lt;password&gt;{}&lt;/password&gt;", '<wsse:Password Type="x">{}</wsse:Password>', "<server><id>x</id><username>u</username><password>{}</password></server>",
    "password: {}", "password: '{}'", 'password: "{}"', "db:\n  user: ann\n  password: {}\n  port: 5432", "stringData:\n  password: {}", "kind: Secret\ndata:\n  password: {}", "credentials:\n  - token: {}", "client_secret: {}", "- name: DB_PASSWORD\n  value: {}", '- name: DB_PASSWORD\n  value: "{}"', '- {name: DB_PASSWORD, value: "{}"}', "- {name: API_KEY, value: {}}", "  - name: api_key\n    type: string\n    value: {}", "password: |\n  {}", "password: >-\n  {}\nuser: ann", "api_key: !vault {}", "outputs:\n  dev:\n    type: postgres\n    pass: {}\n    port: 5432", "aws_secret_access_key: {}", "[db]\npassword = {}\nhost = h", "[default]\naws_access_key_id = A\naws_secret_access_key = {}", "machine h login ann password {}", "machine github.com\n  login ann\n  password {}", "//registry.npmjs.org/:_authToken={}", "_auth = {}", 'password "{}"', 'password = "{}"\nuser = "x"', 'variable "db_password" {\n  default = "{}"\n}', "ENV DB_PASSWORD {}", "ENV DB_PASSWORD={}", "ARG TOKEN={}", "requirepass {}", "masterauth {}", 'secret_key_base: "{}"', "rabbit.password={}", "user.password={}", "Password:\t{}", "export API_TOKEN={}", "Set-Cookie: session={}; HttpOnly", "Cookie: sid={}", "Proxy-Authorization: Basic {}", "Authorization: {}", "authorization: ApiKey {}", "X-Vault-Token: {}", "PRIVATE-TOKEN: {}", "x-functions-key: {}", "Ocp-Apim-Subscription-Key: {}", "X-Amz-Security-Token: {}", '{"Authorization": "Bearer {}"}', "{'Authorization': 'Token {}'}", 'Header("Authorization", "Bearer {}")', 'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="{}";', 'org.apache.kafka.common.security.scram.ScramLoginModule required username=\\"ann\\" password=\\"{}\\";', "basic.auth.user.info=ann:{}", "basic.auth.user.info: ann:{}",
    '{"password": "{}"}', '{"db": {"user": "ann", "password": "{}"}}', '{"token":"{}","n":1}', '{"headers": {"X-Api-Key": "{}"}}', '{"name":"DB_PASSWORD","value":"{}"}', '{"value":"{}","name":"DB_PASSWORD"}', '{"Name": "DB_PASSWORD", "Value": "{}"}', '{"key": "api_token", "value": "{}"}', '{"ParameterKey": "DbPassword", "ParameterValue": "{}"}', '[{"name": "a", "value": "b"}, {"name": "SECRET_KEY", "value": "{}"}]', '{"name":"API_KEY","type":"env","value":"{}"}', "{'name': 'DB_PASSWORD', 'value': '{}'}", "EnvVar(name='DB_PASSWORD', value='{}')", 'k8s.V1EnvVar(name="API_TOKEN", value="{}")', '{\\"name\\":\\"DB_PASSWORD\\",\\"value\\":\\"{}\\"}', '{\\"password\\":\\"{}\\"}', '{\\\\\\"password\\\\\\":\\\\\\"{}\\\\\\"}', '{"auths":{"r.io":{"auth":"{}"}}}', '{"type":"service_account","private_key":"{}"}', '{"apiKey":["{}"]}', '{"passwords": ["a1b2c3d4", "{}"]}', "name=DB_PASSWORD, value={}", "name: db_password, value: {}", "key=api_key value={}", 'Environment(name="PGPASSWORD", value="{}")', "ContainerOverrides environment=[{name=DB_PASSWORD, value={}}]",
]  # fmt: skip

ARMOUR = [
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", "-----BEGIN EC PRIVATE KEY-----\n{}\n-----END EC PRIVATE KEY-----", "-----BEGIN OPENSSH PRIVATE KEY-----\n{}", "-----BEGIN ENCRYPTED PRIVATE KEY-----\\n{}\\n-----END ENCRYPTED PRIVATE KEY-----", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n{}\n-----END PGP PRIVATE KEY BLOCK-----", "-----BEGIN PGP MESSAGE-----\n{}\n-----END PGP MESSAGE-----",
    "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: x\n{}\n---- END SSH2 ENCRYPTED PRIVATE KEY ----", "---- BEGIN SSH2 PRIVATE KEY ----\n{}\n---- END SSH2 PRIVATE KEY ----",
    "PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nComment: x\nPublic-Lines: 1\nAAAA\nPrivate-Lines: 1\n{}\nPrivate-MAC: 0123", "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPrivate-Lines: 1\n{}\nPrivate-MAC: 01", "PuTTY-User-Key-File-3: ssh-ed25519\\nEncryption: none\\nPrivate-Lines: 1\\n{}\\nPrivate-MAC: 01",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi{}.c2lnbmF0dXJl", "token eyJhbGciOiJIUzI1NiJ9.{}.c2lnbmF0dXJl", "eyJhbGciOiJkaXIifQ..{}.x.y", "-----BEGIN DSA PRIVATE KEY-----{}-----END DSA PRIVATE KEY-----",
]  # fmt: skip

#: Secrets that only the reader of a manual or of the whole program knows: they may survive, and count as survivors.
DEBATABLE = [
    "lftp -e 'open -u ann,{} h'", "gh auth login --with-token <<< {}", r"net use x: \\h\s /user:ann {}", "xfreerdp /u:ann /p:{} /v:h", "echo 'ann:{}' | chpasswd",
    "echo {} | docker login -u ann --password-stdin", 'echo "{}" | sudo -S ls', "expect -c 'send \"{}\"' password", "SELECT '{}' password", "cx_Oracle.connect('scott/{}@db')",
    "db:5432:shop:ann:{}", "| password | {} |", "password,{}", '{"credentials": {"key": "{}"}}', "The password is: {}", "AUTH {}", "<Password><Value>{}</Value></Password>",
    '{"variable": "api_token", "val": "{}"}', "Password for ann set to '{}'", "my password is {}", "log in as ann/{}", "az sql server create -u a -p {}",
]  # fmt: skip

#: Texts around a secret's own: an error, a log, a description.
AROUND = [
    "{}", "Command failed: {}", "2026-01-15 10:00:00 INFO run: {}", "Loads orders.\n\n{}\n\nOwner: team data", "Bash command (exit 1):\n{}\nlast line",
]  # fmt: skip

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghjkmnpqrstuvwxyz23456789"


class PlantedText(NamedTuple):
    """A text with a secret in it: its group and template, and the marker that must not survive."""

    group: str
    template: str
    text: str
    marker: str


def styles(chance: random.Random) -> dict[str, Callable[[], str]]:
    """Return the styles of secrets: each call makes another one."""

    def generated() -> str:
        return (
            "".join(chance.choices(LETTERS, k=17))
            + chance.choice("23456789")
            + chance.choice("abc")
            + chance.choice("XYZ")
        )

    def signed() -> str:
        return f"{''.join(chance.choices(LETTERS, k=6))}!{chance.randrange(10, 99)}_{''.join(chance.choices(LETTERS, k=4))}.x"

    def encoded() -> str:
        return base64.b64encode(chance.randbytes(30)).decode().replace("+", "z").replace("/", "y") + "="

    return {"generated": generated, "with signs": signed, "base64": encoded}


#: Issuers whose tokens have no other signs than letters, digits and a few: a secret of another style is none of theirs.
OF_ONE_STYLE = ("eyJ", "webhook", "telegram", "hooks.slack")


def planted_texts() -> Iterator[PlantedText]:
    """Yield every template with secrets of each style."""
    chance = random.Random(20260115)  # noqa: S311 - the same texts in each run
    makers = list(styles(chance).values())
    number = 0
    for group, templates in groups().items():
        for template in templates:
            one_style = any(word in template for word in OF_ONE_STYLE)
            for make in makers[:1] if one_style else makers[number % 3 :][:1] if group == "keys" else makers:
                secret = make()
                around = "{}" if group == "sql" or template.startswith("ENV") else AROUND[number % len(AROUND)]
                number += 1
                yield PlantedText(group, template, around.replace("{}", template.replace("{}", secret), 1), secret)
    for issuer, token, body in tokens(chance):
        number += 1
        for around in (AROUND[number % len(AROUND)], "the value is '{}'", "x={}"):
            yield PlantedText("tokens", issuer, around.replace("{}", token), body)


def groups() -> dict[str, list[str]]:
    """Return the templates by group."""
    return {
        "keys": [shape.replace("%s", name) for name in KEY_NAMES for shape in TEXTS_OF_KEYS.values()],
        "commands": COMMANDS, "sql": SQL, "code": CODE, "urls": URLS, "documents": DOCUMENTS, "armour": ARMOUR, "debatable": DEBATABLE,
    }  # fmt: skip


def tokens(chance: random.Random) -> Iterator[tuple[str, str, str]]:
    """Yield (issuer, token, the random part of it) for each prefix of the rules."""
    file = MAPPINGS / "redaction" / "secrets.yaml"
    letters = {
        "hex": "0123456789abcdef",
        "upper": "ABCDEFGHJKLMNPQRSTUVWXYZ234567",
        "base32": "ABCDEFGHJKLMNPQRSTUVWXYZ234567",
        "hex_dashed": "0123456789abcdef",
        "upper_dashed": "ABCDEFGHJKLMNPQRSTUVWXYZ234567",
    }
    for row in load_yaml(file.read_text(encoding="utf-8"), str(file))["tokens"]:
        for prefix in row["prefixes"]:
            size = row.get("most") or max(row["least"], 24)
            body = "".join(chance.choices(letters.get(row["alphabet"], LETTERS), k=size))
            body = f"A7{body[2:]}" if row.get("mixed") else body
            before = "".join(chance.choices("0123456789", k=row.get("before", 0)))
            yield row["issuer"], f"{before}{prefix}{body}", body
