"""Texts of InfiniBand tools, made up in the forms that the tools write."""

PERFQUERY = """# Port counters: Lid 7 port 1 (CapMask: 0x1300)
PortSelect:......................1
CounterSelect:...................0x0000
SymbolErrorCounter:..............65535
LinkDownedCounter:...............3
PortXmitDiscards:................70
CounterSelect2:..................0x1b
PortXmitData:....................1080
PortXmitWait:....................4294967295
# Port counters: Lid 7 port 2 (CapMask: 0x1300)
PortSelect:......................2
PortXmitDiscards:................0
"""
PERFQUERY_X = """# Port extended counters: Lid 7 port 1 (CapMask: 0x1300 CapMask2: 0x0000002)
PortSelect:......................1
PortXmitData:....................5000000000
PortXmitDiscards:................70000
"""
IBQUERYERRORS = """Errors for "node-01 mlx5_0"
   GUID 0x100001 port 1: [SymbolErrorCounter == 12] [PortXmitData == 1008 (3.938KB)]
Errors for 0x2c90300aaaa02 "MF0;sw01:MQM9700/U1"
   GUID 0x2c90300aaaa02 port ALL: [PortXmitDiscards == 70] [PortXmitWait == 4294967295]
   GUID 0x2c90300aaaa02 port 1: [PortXmitDiscards == 70] [PortXmitWait == 4294967295]
       Link info:      1    1[  ] ==( 4X 53.125 Gbps Active/  LinkUp)==>  0x1 4 1[  ] "node-01 mlx5_0" ( )
Errors for 0x2c90300aaaa04 "sw02"
   GUID 0x2c90300aaaa04 port 5: [PortRcvErrors == 2846 (2.779K)] [LinkDownedCounter == 300 (300.000)]

## Summary: 6 nodes checked, 3 bad nodes found
##          20 ports checked, 3 ports have errors beyond threshold
## Thresholds: 
## Suppressed:
"""  # noqa: W291 (as the tool writes it)
IBLINKINFO = """CA: node-01 mlx5_0:
      0x0000000000100001      2    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       1    1[  ] "sw01" ( )
Switch: 0x0000000000200000 MF0;sw01:MQM9700/U1:
           1    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp)==>       2    1[  ] "node-01 mlx5_0" ( )
           1    2[  ] ==( 1X        53.125 Gbps Active/  LinkUp)==>       3    9[  ] "sw02" (Could be 4X )
           1    3[  ] ==(                Down/ Polling)==>             [  ] "" ( )
Switch: 0x0000000000200001 sw02:
           3    9[  ] ==( 1X  53.125 Gbps Active/  LinkUp) (HOQ:18 VL_Stall:7)==>   1    2[  ] "sw01" (Could be 4X )
"""
IBNETDISCOVER = """#
# Topology file: generated on Mon Jan  5 10:00:00 2026
#
vendid=0x2c9
devid=0xd2f0
sysimgguid=0x200001
switchguid=0x200001(200001)
Switch\t8 "S-0000000000200001"\t\t# "sw02" base port 0 lid 3 lmc 0
[1]\t"H-0000000000100004"[1](100005) \t\t# "node-01 mlx5_1" lid 5 4xNDR
[3]\t"S-0000000000200000"[3]\t\t# "sw01" lid 1 4xHDR

vendid=0x0
caguid=0x100004
Ca\t2 "H-0000000000100004"\t\t# "node-01 mlx5_1"
[1](100005) \t"S-0000000000200001"[1]\t\t# lid 5 lmc 0 "sw02" lid 3 4xNDR
"""
IBNETDISCOVER_P = """CA     6  1 0x0000000000100007 4x NDR - SW  3  2 0x0000000000200001 ( 'node-02 mlx5_1' - 'sw02' )
SW     3  8 0x0000000000200001 4x NDR                                    'sw02'
SW     3  2 0x0000000000200001 4x NDR - CA     6  1 0x0000000000100007 ( 'sw02' - 'node-02 mlx5_1' )
"""
DB_CSV = """# ibdiagnet
START_NODES
NodeDesc,NumPorts,NodeType,NodeGUID
"MF0;sw01:MQM9700/U1",64,2,0x200000
"node-01 mlx5_0",1,1,0x100000
END_NODES

START_LINKS
NodeGuid1,PortNum1,NodeGuid2,PortNum2
0x200000,1,0x100000,1
END_LINKS

START_PM_INFO
NodeGUID,PortGUID,PortNumber,LinkDownedCounter,PortXmitWait,PortXmitWaitExt,PortXmitDataExtended,PortXmitDiscards
0x200000,0x200000,1,255,4294967295,0x12a05f200,7,N/A
0x100000,0x100001,1,0,5,5,8,70
END_PM_INFO
"""
UFM_PROMETHEUS = """# HELP PortXmitDataExtended words
PortXmitDataExtended{source="0x0002c90300f172a0",node_guid="2c90300f172a0",port_guid="2c90300f172a0",port_num="2"} 85554128244 1628683905941
PortXmitDiscardsExtended{source="0x0002c90300f172a0",node_guid="0x0002c90300f172a0",port_num="2"} 4 1628683905941
"""  # noqa: E501 (one line as the endpoint writes it)
UFM_CSV = """timestamp,source_id,tag,Node_GUID,port_guid,Port_Number,PortXmitDataExtended,Symbol_BER,Module_Temperature
1709652347161873,0x1,,0x0c42a103007ab890,0x0c42a103007ab890,1,55,1e-254,41
1709652347161874,0x1,,0x0c42a103007ab890,0x0c42a103007ab890,2,,15e-255,N/A

"""
