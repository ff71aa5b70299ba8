CREATE TABLE agent_memories (
	id CHAR(32) NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT, 
	thread_id TEXT, 
	memory_key TEXT NOT NULL, 
	memory_type TEXT DEFAULT 'tool_output' NOT NULL, 
	tier TEXT DEFAULT 'detail' NOT NULL, 
	tier_id TEXT, 
	summary TEXT DEFAULT '' NOT NULL, 
	media_type TEXT DEFAULT 'text/plain' NOT NULL, 
	content_metadata JSON DEFAULT '{}' NOT NULL, 
	category TEXT, 
	tags JSON DEFAULT '[]' NOT NULL, 
	importance FLOAT DEFAULT (0.5) NOT NULL, 
	token_count BIGINT DEFAULT 0 NOT NULL, 
	char_count BIGINT DEFAULT 0 NOT NULL, 
	line_count BIGINT DEFAULT 0 NOT NULL, 
	content_hash TEXT DEFAULT '' NOT NULL, 
	identity TEXT, 
	created_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL, 
	updated_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL, 
	expires_at DATETIME, 
	is_active BOOLEAN DEFAULT 1 NOT NULL, 
	content TEXT, 
	content_bytes BLOB, 
	PRIMARY KEY (id), 
	CONSTRAINT uq_agent_memories_user_key UNIQUE (user_id, memory_key), 
	CONSTRAINT uq_agent_memories_user_identity UNIQUE (user_id, identity)
);
CREATE INDEX ix_agent_memories_user_tier ON agent_memories (user_id, tier, tier_id);
CREATE INDEX ix_agent_memories_user_thread ON agent_memories (user_id, thread_id);
CREATE INDEX ix_agent_memories_user_created ON agent_memories (user_id, created_at);
CREATE TABLE agent_memory_deletions (
	user_id TEXT NOT NULL, 
	memory_key TEXT NOT NULL, 
	deleted_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL, 
	reason TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (user_id, memory_key)
);
CREATE TABLE agent_memory_owners (
	number INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	user_id TEXT NOT NULL, 
	passages BIGINT DEFAULT 0 NOT NULL, 
	length BIGINT DEFAULT 0 NOT NULL, 
	CONSTRAINT uq_agent_memory_owners_user UNIQUE (user_id)
);
CREATE TABLE agent_memory_settings (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
CREATE TABLE agent_memory_access (
	memory_id CHAR(32) NOT NULL, 
	accessed_at DATETIME NOT NULL, 
	access_count BIGINT DEFAULT 1 NOT NULL, 
	PRIMARY KEY (memory_id), 
	CONSTRAINT fk_agent_memory_access FOREIGN KEY(memory_id) REFERENCES agent_memories (id) ON DELETE CASCADE
);
CREATE TABLE agent_memory_passages (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	memory_id CHAR(32) NOT NULL, 
	ordinal BIGINT NOT NULL, 
	start BIGINT NOT NULL, 
	stop BIGINT NOT NULL, 
	line BIGINT NOT NULL, 
	length INTEGER NOT NULL, 
	lexemes TEXT, 
	CONSTRAINT fk_agent_memory_passages FOREIGN KEY(memory_id) REFERENCES agent_memories (id) ON DELETE CASCADE, 
	CONSTRAINT uq_agent_memory_passages UNIQUE (memory_id, ordinal)
);
CREATE INDEX ix_agent_memory_passages_lexemes ON agent_memory_passages (lexemes) WHERE lexemes IS NOT NULL;
CREATE TABLE agent_memory_pending (
	memory_id CHAR(32) NOT NULL, 
	user_id TEXT NOT NULL, 
	done BIGINT DEFAULT 0 NOT NULL, 
	PRIMARY KEY (memory_id), 
	CONSTRAINT fk_agent_memory_pending FOREIGN KEY(memory_id) REFERENCES agent_memories (id) ON DELETE CASCADE
);
CREATE INDEX ix_agent_memory_pending_user ON agent_memory_pending (user_id);
CREATE VIRTUAL TABLE agent_memory_index USING fts5(
    lexemes, content='', detail=none, columnsize=0, tokenize="ascii tokenchars '!#$%&()*+,-./:;<=>?@[\]^_`{|}~'");
CREATE VIRTUAL TABLE agent_memory_terms USING fts5vocab(agent_memory_index, row);
CREATE TABLE memory_context_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT memory_context_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE agent_memory_vectors_letters_7ad8dbe5_8 (
	memory_id CHAR(32) NOT NULL, 
	ordinal BIGINT NOT NULL, 
	user_id TEXT NOT NULL, 
	vector BLOB NOT NULL, 
	PRIMARY KEY (memory_id, ordinal), 
	FOREIGN KEY(memory_id) REFERENCES agent_memories (id) ON DELETE CASCADE
);
CREATE INDEX ix_agent_memory_vectors_letters_7ad8dbe5_8_user_id ON agent_memory_vectors_letters_7ad8dbe5_8 (user_id);
INSERT OR REPLACE INTO agent_memories VALUES('583c43a4b9544df28b53ea5f2ec7f3fa','ann','coder','t1','decision','tool_output','detail',NULL,'the decision','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,45,45,1,'deb5f07cca34e6cc81f5a678cb7db3ee752ab8d28015fd8ad8beff09d7b69164',NULL,'2026-11-22 08:05:41.917562','2026-11-22 08:05:41.917569',NULL,1,'The launch window of the rocket is on Friday.',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('d36fb5c2b7f04c28a1b87ae3bae40e38','ann','coder','t1','chinese','tool_output','detail',NULL,'the chinese','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,15,15,1,'1f195ab7d998d0feca9b2ba1206f4d9defbc97dd2137694f4f384845297f9f97',NULL,'2026-11-22 08:05:41.939414','2026-11-22 08:05:41.939421',NULL,1,'数据库连接失败：请检查密码 😀',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('f44c53db549448a38b2b6de7db788b79','ann','coder','t1','large','tool_output','detail',NULL,'the large','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,3642,3642,120,'452d42eaf55170269e1e737fb2b7cb8ba643c9142e03e23041e5a582484658e8',NULL,'2026-11-22 08:05:41.940777','2026-11-22 08:05:41.940779',NULL,1,'line 0: worker 0 took 0 ms
line 1: worker 1 took 37 ms
line 2: worker 2 took 74 ms
line 3: worker 3 took 111 ms
line 4: worker 4 took 148 ms
line 5: worker 5 took 185 ms
line 6: worker 6 took 222 ms
line 7: worker 0 took 259 ms
line 8: worker 1 took 296 ms
line 9: worker 2 took 333 ms
line 10: worker 3 took 370 ms
line 11: worker 4 took 407 ms
line 12: worker 5 took 444 ms
line 13: worker 6 took 481 ms
line 14: worker 0 took 518 ms
line 15: worker 1 took 555 ms
line 16: worker 2 took 592 ms
line 17: worker 3 took 629 ms
line 18: worker 4 took 666 ms
line 19: worker 5 took 703 ms
line 20: worker 6 took 740 ms
line 21: worker 0 took 777 ms
line 22: worker 1 took 814 ms
line 23: worker 2 took 851 ms
line 24: worker 3 took 888 ms
line 25: worker 4 took 925 ms
line 26: worker 5 took 962 ms
line 27: worker 6 took 999 ms
line 28: worker 0 took 36 ms
line 29: worker 1 took 73 ms
line 30: worker 2 took 110 ms
line 31: worker 3 took 147 ms
line 32: worker 4 took 184 ms
line 33: worker 5 took 221 ms
line 34: worker 6 took 258 ms
line 35: worker 0 took 295 ms
line 36: worker 1 took 332 ms
line 37: worker 2 took 369 ms
line 38: worker 3 took 406 ms
line 39: worker 4 took 443 ms
line 40: worker 5 took 480 ms
line 41: worker 6 took 517 ms
line 42: worker 0 took 554 ms
line 43: worker 1 took 591 ms
line 44: worker 2 took 628 ms
line 45: worker 3 took 665 ms
line 46: worker 4 took 702 ms
line 47: worker 5 took 739 ms
line 48: worker 6 took 776 ms
line 49: worker 0 took 813 ms
line 50: worker 1 took 850 ms
line 51: worker 2 took 887 ms
line 52: worker 3 took 924 ms
line 53: worker 4 took 961 ms
line 54: worker 5 took 998 ms
line 55: worker 6 took 35 ms
line 56: worker 0 took 72 ms
line 57: worker 1 took 109 ms
line 58: worker 2 took 146 ms
line 59: worker 3 took 183 ms
line 60: zebrafish-4711 was found by the night shift; worker 4 took 220 ms
line 61: worker 5 took 257 ms
line 62: worker 6 took 294 ms
line 63: worker 0 took 331 ms
line 64: worker 1 took 368 ms
line 65: worker 2 took 405 ms
line 66: worker 3 took 442 ms
line 67: worker 4 took 479 ms
line 68: worker 5 took 516 ms
line 69: worker 6 took 553 ms
line 70: worker 0 took 590 ms
line 71: worker 1 took 627 ms
line 72: worker 2 took 664 ms
line 73: worker 3 took 701 ms
line 74: worker 4 took 738 ms
line 75: worker 5 took 775 ms
line 76: worker 6 took 812 ms
line 77: worker 0 took 849 ms
line 78: worker 1 took 886 ms
line 79: worker 2 took 923 ms
line 80: worker 3 took 960 ms
line 81: worker 4 took 997 ms
line 82: worker 5 took 34 ms
line 83: worker 6 took 71 ms
line 84: worker 0 took 108 ms
line 85: worker 1 took 145 ms
line 86: worker 2 took 182 ms
line 87: worker 3 took 219 ms
line 88: worker 4 took 256 ms
line 89: worker 5 took 293 ms
line 90: worker 6 took 330 ms
line 91: worker 0 took 367 ms
line 92: worker 1 took 404 ms
line 93: worker 2 took 441 ms
line 94: worker 3 took 478 ms
line 95: worker 4 took 515 ms
line 96: worker 5 took 552 ms
line 97: worker 6 took 589 ms
line 98: worker 0 took 626 ms
line 99: worker 1 took 663 ms
line 100: worker 2 took 700 ms
line 101: worker 3 took 737 ms
line 102: worker 4 took 774 ms
line 103: worker 5 took 811 ms
line 104: worker 6 took 848 ms
line 105: worker 0 took 885 ms
line 106: worker 1 took 922 ms
line 107: worker 2 took 959 ms
line 108: worker 3 took 996 ms
line 109: worker 4 took 33 ms
line 110: worker 5 took 70 ms
line 111: worker 6 took 107 ms
line 112: worker 0 took 144 ms
line 113: worker 1 took 181 ms
line 114: worker 2 took 218 ms
line 115: worker 3 took 255 ms
line 116: worker 4 took 292 ms
line 117: worker 5 took 329 ms
line 118: worker 6 took 366 ms
line 119: worker 0 took 403 ms',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('435f0c13bcd94bac876423fcb5b5c82d','ann','coder','t1','nul','tool_output','detail',NULL,'the nul','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,12,12,1,'2aef0a643178abbb8d9a9affd254de5bbc459a324546fa66d37287f8efd5a5ee',NULL,'2026-11-22 08:05:41.942761','2026-11-22 08:05:41.942763',NULL,1,NULL,X'4E554C200020696E73696465');
INSERT OR REPLACE INTO agent_memories VALUES('a762cb385ee94ea5a3b2059fbd2f73ea','ann','coder','t1','surrogate','tool_output','detail',NULL,'the surrogate','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,18,18,1,'975d5b4ab69e885784d946e3001e499cf0a7a778e00c48f394a24e801a9e014a',NULL,'2026-11-22 08:05:41.945130','2026-11-22 08:05:41.945133',NULL,1,NULL,X'61206C6F6E6520EDA0BD20737572726F67617465');
INSERT OR REPLACE INTO agent_memories VALUES('0d0921ecf77642fbb8eae90d4c302f63','ann','coder','t1','breaks','tool_output','detail',NULL,'the breaks','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,14,14,3,'add2b1b7ccbad6be80e893d72fcd9bc45bff5fc6ee5cde54a71d06343fc69d9b',NULL,'2026-11-22 08:05:41.945902','2026-11-22 08:05:41.945904',NULL,1,'line
breaks

',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('a1a2baa603b645bfbdc4e94dcc9a4705','ann','coder','t1','empty','tool_output','detail',NULL,'the empty','text/plain','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,0,0,0,'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',NULL,'2026-11-22 08:05:41.946489','2026-11-22 08:05:41.946490',NULL,1,'',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('9dd34ef74d7e4c9eb9ca9c6b10998c9e','ann','coder','t1','binary','tool_output','detail',NULL,'the binary','application/octet-stream','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,0,12,0,'0b3509836ce4b263d503bf03fc1017555ee12471d67c34d350e1ab047b7b1366',NULL,'2026-11-22 08:05:41.947083','2026-11-22 08:05:41.947084',NULL,1,NULL,X'00FFFE2062696E6172792080');
INSERT OR REPLACE INTO agent_memories VALUES('227c041478ec4c0b8f7386bc015a48e9','ann','coder','t1','json','tool_output','detail',NULL,'the json','application/json','{"exit": 1, "args": ["a", null, {"\u00fc": true}]}',NULL,'[]',0.5,74,74,1,'06cbf78b5add9af758f1ebb4b4f3919749a7d0d7b58b8808d609f077300f581a',NULL,'2026-11-22 08:05:41.947773','2026-11-22 08:05:41.947775',NULL,1,'{"items": [{"id": 1, "name": "ü"}, {"id": 2, "name": null}], "total": 2.5}',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('e2322fcd65e1459498b818b5842fb09d','ann','coder','t1','staging-password','secret','detail',NULL,'the password of staging','text/plain','{}',NULL,'["staging"]',0.5,7,7,1,'f52fbd32b2b3b86ff88ef6c490628285f482af15ddcb29541f94bcf526a3f6c7',NULL,'2026-11-22 08:05:41.948407','2026-11-22 08:05:41.948409',NULL,1,'hunter2',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('5ce00f6e97bf43e589155cc02bdbefe4','ann','coder','t1','in-run','note','run','r1','text, 1 line: a note of the tier run','text/plain','{}','notes/run','["red", "gr\u00fcn"]',0.75,22,22,1,'578f46622e868ed1adfd95c30f3fea4c29f08788d388861d9e1e0aca57ac90e7',NULL,'2026-11-22 08:05:41.949573','2026-11-22 08:05:41.949574',NULL,1,'a note of the tier run',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('fa2773c6f6f44ac5b1019c83188c9283','ann','coder','t1','in-session','note','session','t1','text, 1 line: a note of the tier session','text/plain','{}','notes/session','["red", "gr\u00fcn"]',0.75,26,26,1,'9a4a7bfa680dc30c3f7c0af4cbafeb2cb245f8e730288dc027589de2d14b277d',NULL,'2026-11-22 08:05:41.950432','2026-11-22 08:05:41.950433',NULL,1,'a note of the tier session',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('93c112f059f44012822d1bc5a7642b6e','ann','coder','t1','in-plan','note','plan','r1','text, 1 line: a note of the tier plan','text/plain','{}','notes/plan','["red", "gr\u00fcn"]',0.75,23,23,1,'0774a5f7f9922e62c6d082ed97bd2d5cd81584a1e8a296001a64f37fd7aacaed',NULL,'2026-11-22 08:05:41.951211','2026-11-22 08:05:41.951212',NULL,1,'a note of the tier plan',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('7796a4ac9149458f9223736b8fedb342','ann','coder','t1','in-task','note','task','k1','text, 1 line: a note of the tier task','text/plain','{}','notes/task','["red", "gr\u00fcn"]',0.75,23,23,1,'4cbeafa3828a4c5d7b40912cfbd9d0ae0206c3c746326d35b274fef5646f3da3',NULL,'2026-11-22 08:05:41.951926','2026-11-22 08:05:41.951927',NULL,1,'a note of the tier task',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('f3f0fffa165f402c8815b1404c0d0370','ann','coder','t1','in-project','note','project','p1','text, 1 line: a note of the tier project','text/plain','{}','notes/project','["red", "gr\u00fcn"]',0.75,26,26,1,'64a22cbb755d323bda786048c5015378803fa4203ad62a73e18930cf02795ab2',NULL,'2026-11-22 08:05:41.959192','2026-11-22 08:05:41.959196',NULL,1,'a note of the tier project',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('d88c0f87efe646749f314b113fdb7c33','ann','coder','t1','in-global','note','global',NULL,'text, 1 line: a note of the tier global','text/plain','{}','notes/global','["red", "gr\u00fcn"]',0.75,25,25,1,'0d8ea0ee930f19a5ddd0b7aefd0db027737ce5ffb0f95ff5c99ee44d84270642',NULL,'2026-11-22 08:05:42.014905','2026-11-22 08:05:42.014911',NULL,1,'a note of the tier global',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('3e05c7ac952346a690fe471150e207df','ann','coder','t1','npm_install_8f680499','tool_output','detail',NULL,'text, 1 line: an output that is shared an output that is shared an output that…','text/plain','{}',NULL,'[]',0.5,500,500,1,'8f6804993db1cd23d45193a7ff52ffc01e5f80eaf51b7a141e16ee99b996bb5f','8f6804993db1cd23d45193a7ff52ffc01e5f80eaf51b7a141e16ee99b996bb5f','2026-11-22 08:05:42.016392','2026-11-22 08:05:42.016395','2999-12-31 23:59:59.123456',1,'an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared an output that is shared ',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('067c73a895084538b2345a7879f2f9da','ann','coder','t1','evicted','note','detail',NULL,'text, 1 line: evicted','text/plain','{}',NULL,'[]',0.5,7,7,1,'48acbb9c630a69a055d0c0610d7aa63aa7fc3ce5fd1ca812f4843d0eccea78bb',NULL,'2026-11-22 08:05:42.018381','2026-11-22 08:05:42.020770',NULL,0,'evicted',NULL);
INSERT OR REPLACE INTO agent_memories VALUES('4efe8279b2d14800a6ed0be72d23a099','bob',NULL,NULL,'decision','note','detail',NULL,'bob''s own','text/plain','{}',NULL,'[]',0.5,45,45,1,'deb5f07cca34e6cc81f5a678cb7db3ee752ab8d28015fd8ad8beff09d7b69164',NULL,'2026-11-22 08:05:42.084799','2026-11-22 08:05:42.084803',NULL,1,'The launch window of the rocket is on Friday.',NULL);
INSERT OR REPLACE INTO agent_memory_deletions VALUES('ann','gone','2026-11-22 08:05:42.073832','forgotten');
INSERT OR REPLACE INTO agent_memory_deletions VALUES('ann','gone-too','2026-11-22 08:05:42.083797','a retention rule');
INSERT OR REPLACE INTO agent_memory_owners VALUES(1,'ann',19,1013);
INSERT OR REPLACE INTO agent_memory_owners VALUES(2,'bob',1,9);
INSERT OR REPLACE INTO sqlite_sequence VALUES('agent_memory_owners',2);
INSERT OR REPLACE INTO sqlite_sequence VALUES('agent_memory_passages',43);
INSERT OR REPLACE INTO agent_memory_settings VALUES('vectors:agent_memory_vectors_letters_7ad8dbe5_8','');
INSERT OR REPLACE INTO agent_memory_settings VALUES('analyzer','1');
INSERT OR REPLACE INTO agent_memory_access VALUES('583c43a4b9544df28b53ea5f2ec7f3fa','2026-11-22 08:05:42.042448',2);
INSERT OR REPLACE INTO agent_memory_access VALUES('f44c53db549448a38b2b6de7db788b79','2026-11-22 08:05:42.056560',1);
INSERT OR REPLACE INTO agent_memory_passages VALUES(24,'4efe8279b2d14800a6ed0be72d23a099',0,0,45,1,9,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(25,'067c73a895084538b2345a7879f2f9da',0,0,7,1,1,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(26,'3e05c7ac952346a690fe471150e207df',0,0,500,1,100,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(27,'d88c0f87efe646749f314b113fdb7c33',0,0,25,1,6,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(28,'f3f0fffa165f402c8815b1404c0d0370',0,0,26,1,6,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(29,'7796a4ac9149458f9223736b8fedb342',0,0,23,1,6,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(30,'93c112f059f44012822d1bc5a7642b6e',0,0,23,1,6,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(31,'fa2773c6f6f44ac5b1019c83188c9283',0,0,26,1,6,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(32,'5ce00f6e97bf43e589155cc02bdbefe4',0,0,22,1,6,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(33,'e2322fcd65e1459498b818b5842fb09d',0,0,0,1,0,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(34,'227c041478ec4c0b8f7386bc015a48e9',0,0,74,1,11,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(35,'9dd34ef74d7e4c9eb9ca9c6b10998c9e',0,0,0,1,0,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(36,'a1a2baa603b645bfbdc4e94dcc9a4705',0,0,0,1,0,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(37,'0d0921ecf77642fbb8eae90d4c302f63',0,0,14,1,2,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(38,'a762cb385ee94ea5a3b2059fbd2f73ea',0,0,18,1,3,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(39,'435f0c13bcd94bac876423fcb5b5c82d',0,0,12,1,2,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(40,'f44c53db549448a38b2b6de7db788b79',0,0,1977,1,462,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(41,'f44c53db549448a38b2b6de7db788b79',1,1977,3642,66,385,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(42,'d36fb5c2b7f04c28a1b87ae3bae40e38',0,0,15,1,2,NULL);
INSERT OR REPLACE INTO agent_memory_passages VALUES(43,'583c43a4b9544df28b53ea5f2ec7f3fa',0,0,45,1,9,NULL);
INSERT OR REPLACE INTO agent_memory_index_data VALUES(1,X'148279');
INSERT OR REPLACE INTO agent_memory_index_data VALUES(10,X'0000000002041300041101010101010201010301010000');
INSERT OR REPLACE INTO agent_memory_index_data VALUES(137438953473,X'0000041C0730313A30E281B52801030231302805013029050131290501322905013329050134290501352905013629050337C2B229050338C2B2290501392801040131280501302801050131280105013229050133290501342905013529050136290501372905013829050139290401322804013328040134280501342905013529050136280501372805013828040135280401362804013728040138280501312905013229050133280501342805013528040139280403E281B5280103023230280401312805013829050139290401322805013028050131280501322804013328040134280401352805013529050136290501372805013828050139280401362804013728040138280401392805013229050133290501342805013528050136280403E281B5280103023330280401312804013228050139290401332801050130290501312805013228050133280401342801040335C2B22804023636290501372905013828050139280502C2B22804023730280502C2B22804013828040139280403E281B5280103023430280501332905013429050135290501362805013728040131280401322804013328040134280501312905013229050133280501342804013528040136280401372805023131280501382905013929040138280501302805013128040139280403E281B5280103023530280401312805013529050136290501372805013828040132280401332804013428040135280501322905013329050134280501352804013628040137280401382805013929040139280501302905013128050132280403E281B52801030236302804013128040132280501362905013729050138280501392804013328040134280401352904013629050133290501342905013528050136280401372904013829040139290403E281B528010301372804023030290501312905013228050133280502C2B229040331C2B22904013228010401332801050137290501382905013928040134280105013028040135290401362904013729050134290501352905013628050137280401382904013929030138280401302904013129050131290501322905013328050134280401322904013329040134290501382905013929040135290501302805013128040136290401372904013829050135290501362905013728050138280401392903013928040130290401312904013229050132290501332905013428050135280401332904013429040135290501392904013629050130290501312805013228040137290401382904013929050136290501372905013828050139280305666F756E642803046C61726728010406696E65E281B5280103056D73E281B5280103056E696768742803057368696674280307746F6F6BE281B528010309776F726B6572E281B5280103097A6562726166697368280C052D3437313128040A050404040404040406060504050504040404040404040404040404040404040404040404040404040705040404040404040404040404040404040404040404040404070504040405040404040506050404040505050404070504040404040404040404040404040404050404040404040705040404040404040404040404040404040404040404070504040404040404040404040404040404040704050404040506050504040405040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040404040408080A0908080B0D0C');
INSERT OR REPLACE INTO agent_memory_index_data VALUES(274877906945,X'0000008B0930313A6368696E65732A0303E5A4B12A0603E8B4A52A0402AF862A0603E7A0812A0402BA932A0603E8BF9E2A0303E68DAE2A0603E5BA932A04028EA52A0603E5A4B12A040295B02A0603E68DAE2A04029FA52A0603E5AF862A0402A3802A0603E69FA52A0303E7A0812A0303E8AFB72A0603E6A3802A0402B4A52A0402BF9E2A0603E68EA52A040B060605060506060605060506050605060606060505');
INSERT OR REPLACE INTO agent_memory_index_data VALUES(412316860417,X'000000320830313A64656369732B03066672696461792B03066C61756E63682B0306726F636B65742B030677696E646F772B040A090909');
INSERT OR REPLACE INTO agent_memory_index_data VALUES(2336462209025,X'0000020D0430313A31220303322E35220402C2B2220301352203063638303439391A030838663638303439391A030662696E6172692304067265616BC2B2250305656D70746924040676696374C2B2190308676C6F62616CC2B21B040372756E1B010101010103046964C2B22204086E2D676C6F62616C1B0604706C616E1E0706726F6A6563741C060372756E20060773657373696F6E1F06047461736B1D050373696427060374616C1A040374656D2203046A736F6E2203046C696E6519010101010101010504036F6E652603066E616D65C2B222040B6F7465732F676C6F62616C1B0904706C616E1E0A06726F6A6563741C090372756E20090773657373696F6E1F09047461736B1D0702C2B21B01010101010402706D1A06115F696E7374616C6C5F38663638303439391A0403756C6C220602C2B22703096F7574707574E281B51A030870617373776F72642104056C616EC2B21E0408726F6A656374C2B21C03037265641B01010101010404756EC2B220030973657373696F6EC2B21F040768617265E281B51A04047461676521070C696E672D70617373776F72642104077572726F67C2B22603067461736BC2B21D040365787419010101010101010405696572C2B21B010101010104046F74616C22030175220105323A626F6218030564656369731803066672696461791803066C61756E6368180306726F636B657418030677696E646F77180406060504090B090908090B0B070B0709060A07060606070F06090E0709060A070A051406050C0B080B0B070C0A070F0A090D0D07040808090909');
INSERT OR REPLACE INTO agent_memory_index_idx VALUES(1,X'',2);
INSERT OR REPLACE INTO agent_memory_index_idx VALUES(2,X'',2);
INSERT OR REPLACE INTO agent_memory_index_idx VALUES(3,X'',2);
INSERT OR REPLACE INTO agent_memory_index_idx VALUES(17,X'',2);
INSERT OR REPLACE INTO agent_memory_index_config VALUES('version',4);
INSERT OR REPLACE INTO memory_context_version VALUES('0002');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('0d0921ecf77642fbb8eae90d4c302f63',0,'ann',X'EB05D13EEB05D13E0000000000000000EB05513F000000000000000000000000');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('227c041478ec4c0b8f7386bc015a48e9',0,'ann',X'F7BC233F00000000000000004A51DA3EF7BC233F000000000000000000000000');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('435f0c13bcd94bac876423fcb5b5c82d',0,'ann',X'000000000000000000000000F304353FF304353F000000000000000000000000');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('583c43a4b9544df28b53ea5f2ec7f3fa',0,'ann',X'549DAF3E00000000549DAF3E549DAF3EFFB5033F549DAF3E00000000FFB5033F');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('5ce00f6e97bf43e589155cc02bdbefe4',0,'ann',X'3ACD933E000000000000000000000000D8B35D3F3ACD933E000000003ACD933E');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('7796a4ac9149458f9223736b8fedb342',0,'ann',X'A532043F000000000000000000000000F74B463FA532843E00000000A532843E');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('93c112f059f44012822d1bc5a7642b6e',0,'ann',X'A532043F000000000000000000000000F74B463FA532843E00000000A532843E');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('9dd34ef74d7e4c9eb9ca9c6b10998c9e',0,'ann',X'0000003F0000003F00000000000000000000003F00000000000000000000003F');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('a1a2baa603b645bfbdc4e94dcc9a4705',0,'ann',X'000000000000000000000000000000002EF9643F00000000000000002EF9E43E');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('a762cb385ee94ea5a3b2059fbd2f73ea',0,'ann',X'ABAA2A3F000000000000000000000000ABAA2A3F00000000ABAAAA3E00000000');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('d36fb5c2b7f04c28a1b87ae3bae40e38',0,'ann',X'0000000000000000000000000000000000000000000000000000000000000000');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('e2322fcd65e1459498b818b5842fb09d',0,'ann',X'3ACD133F00000000000000003ACD933E3ACD933E3ACD933E3ACD133F3ACD933E');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('f44c53db549448a38b2b6de7db788b79',0,'ann',X'55FE773C55FE773C0000000055FEF73B47BE7F3FBFFEB93C55FEF73B55FEF73C');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('f44c53db549448a38b2b6de7db788b79',1,'ann',X'000000000000000000000000000000000000803F000000000000000000000000');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('fa2773c6f6f44ac5b1019c83188c9283',0,'ann',X'F5EB6A3E000000000000000000000000F5EB6A3FF5EB6A3E00000000F5EB6A3E');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('067c73a895084538b2345a7879f2f9da',0,'ann',X'0000000000000000EB05D13EEB05D13EEB05513F000000000000000000000000');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('3e05c7ac952346a690fe471150e207df',0,'ann',X'F84B463F0000000000000000A532843EA532843E0000000000000000A532043F');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('d88c0f87efe646749f314b113fdb7c33',0,'ann',X'435BF83E435B783E000000000000000072443A3F435B783E435B783E435B783E');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('f3f0fffa165f402c8815b1404c0d0370',0,'ann',X'2EF9643E000000002EF9643E000000002EF9643F2EF9643E000000002EF9643E');
INSERT OR REPLACE INTO agent_memory_vectors_letters_7ad8dbe5_8 VALUES('4efe8279b2d14800a6ed0be72d23a099',0,'bob',X'549DAF3E00000000549DAF3E549DAF3EFFB5033F549DAF3E00000000FFB5033F');
